"""Bad inputs, damaged files, kills, full disks and threads against the whole program."""
