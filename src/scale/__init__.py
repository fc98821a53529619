"""Keep learning from an unlabelled image stream: online, single pass, no labels, no boundaries."""
