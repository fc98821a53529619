"""Speed and memory as ratios, in one run, to a named alternative and to the machine's limit."""
