"""The tables of a live learner's store."""

from __future__ import annotations

VERSION = "1"
"""Version of the tables, in `meta`; another one is refused."""

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    uri TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    message TEXT NOT NULL,
    changed REAL NOT NULL,
    position TEXT,
    gate TEXT
) STRICT;
CREATE TABLE images (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    path TEXT,
    taken REAL NOT NULL,
    came REAL NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    box TEXT,
    pixels BLOB,
    batch INTEGER,
    looked INTEGER
) STRICT;
CREATE INDEX images_by_batch ON images (batch);
CREATE INDEX images_by_taken ON images (taken);
CREATE INDEX images_by_path ON images (path);
CREATE INDEX images_with_pixels ON images (id) WHERE pixels IS NOT NULL;
CREATE TABLE files (
    source INTEGER NOT NULL,
    path TEXT NOT NULL,
    stamp TEXT NOT NULL,
    said TEXT NOT NULL,
    PRIMARY KEY (source, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX files_by_stamp ON files (source, stamp);
CREATE INDEX files_waiting ON files (source, path) WHERE said = 'waiting';
CREATE TABLE skips (
    source INTEGER NOT NULL,
    reason TEXT NOT NULL,
    hour INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (source, reason, hour)
) STRICT, WITHOUT ROWID;
CREATE TABLE batches (
    id INTEGER PRIMARY KEY,
    steps INTEGER NOT NULL,
    journaled REAL NOT NULL,
    learned REAL,
    facts TEXT
) STRICT;
CREATE TABLE embeddings (
    image INTEGER PRIMARY KEY,
    step INTEGER NOT NULL,
    vector BLOB NOT NULL
) STRICT;
CREATE INDEX embeddings_by_step ON embeddings (step);
CREATE TABLE names (image INTEGER PRIMARY KEY, name TEXT NOT NULL, at REAL NOT NULL) STRICT;
CREATE INDEX names_by_name ON names (name);
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    image INTEGER,
    opened REAL NOT NULL,
    closed REAL,
    state TEXT NOT NULL,
    score REAL,
    threshold REAL,
    count INTEGER NOT NULL,
    why TEXT
) STRICT;
CREATE INDEX events_by_state ON events (state, opened);
"""
"""
meta        what the store is: its version
sources     where images come from. position: JSON, where to go on. gate: JSON, the gate's state.
            Both change in the transaction that adds the images they led to
images      in order of arrival, from 1 and without gaps. box: JSON [left, top, width, height] of a
            crop. pixels: a PNG of the learner's size; NULL once retention removed it. batch: NULL
            until it is in the journal. looked: frames of its source that the gate had taken or
            called a duplicate, this one included; NULL in stores of older versions
files       the files of a folder that were seen, also those that were skipped or are unreadable
skips       how many images the gate skipped, by reason and hour of the image
batches     the journal. id is the number of batches that the learner has learned after this one,
            steps its updates, facts the learner's diagnostics as JSON
embeddings  float32, little endian. step: batches learned by the learner that made it
names       names that a person gave
events      what was new. state: open, dismissed or closed. why: JSON, the nearest known images
"""
