"""The texts of the templates: an experiment, notes of results, and a method of one's own."""

EXPERIMENT = """\
title = "Two methods"
kind = "bars"

[base]
encoder = "cnn"
steps_per_batch = 1
stream_batch = 8
evaluations = 2
threads = 1
memory_size = 16

[axes]
dataset = "{data}"
stream = "seq"
method = ["er", "simclr"]
seeds = 1
"""
NOTES = """\
order = 1
question = "Which is better?"
answer = "Nothing is decided."
about = "Two methods on tiny data."
commands = ["scale bench two"]
columns = ["knn", "linear"]
against = "er"
figure = "bars"

[[claims]]
says = "Replay is better"
better = "er"
than = ["simclr"]
"""
ARCHIVE_NOTES = 'title = "Old records"\nwhy = "They are old."\n'
METHOD = """\
from dataclasses import dataclass

import scale


@dataclass(kw_only=True)
class Idle(scale.ContrastiveLearner):
    def learn(self, batch, labels):
        for views in self.updates(batch):
            self.step({"loss": self.project(views).square().mean()})
"""
