"""The commands, one file each; `scale.cli` finds them by name."""
