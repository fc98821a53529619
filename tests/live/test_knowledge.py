"""Search, names, groups and the map: what a person sees, and that it is never out of date."""

import numpy as np
import pytest

from scale._errors import InputError
from scale.live.names import UNKNOWN


def test_the_most_similar_images_are_those_of_an_exhaustive_search(knowledge):
    answer = knowledge.search(5, k=7)
    ids = list(range(1, 97))
    z = knowledge.learner.transform(knowledge.store.pixels(ids))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    scores = z @ z[4]
    expected = [one for one in np.argsort(-scores) + 1 if one != 5][:7]
    assert [hit.id for hit in answer.hits] == expected
    np.testing.assert_allclose(
        [hit.score for hit in answer.hits], scores[np.array(expected) - 1], atol=1e-5
    )
    assert [hit.taken for hit in answer.hits] == [one - 1.0 for one in expected]
    assert (answer.stale, answer.step) == (0, 3)


def test_an_image_of_any_size_can_be_searched(knowledge):
    stored = knowledge.store.pixels([9])[0]
    for image in (
        stored,
        stored.transpose(1, 2, 0),
        stored[0],
        np.kron(stored[0], np.ones((3, 3), np.uint8)),
    ):
        assert knowledge.search(image, k=1).hits[0].id == 9


def test_stale_embeddings_are_made_again_before_they_decide(knowledge):
    knowledge.search(1)
    with knowledge.store.transaction() as db:
        db.execute("UPDATE embeddings SET step = 1, vector = zeroblob(512) WHERE image % 2 = 0")
    answer = knowledge.search(1, k=96)
    assert len(answer.hits) == 95
    assert answer.stale == 0
    assert min(hit.score for hit in answer.hits if hit.id % 2 == 0) > -1


def test_idle_work_makes_all_embeddings_fresh(knowledge):
    while knowledge.idle(knowledge.learner):
        pass
    assert knowledge.embeddings.count_stale(knowledge.views.newest()) == 0


def test_a_later_embedding_is_never_replaced_by_an_earlier_one(knowledge):
    knowledge.embeddings.write([1], 9, np.ones((1, 4), np.float32))
    knowledge.embeddings.write([1], 8, np.zeros((1, 4), np.float32))
    assert knowledge.store.query("SELECT step FROM embeddings WHERE image = 1")[0][0] == 9


def test_images_get_the_name_of_similar_ones_and_say_which_decided(knowledge, learned):
    labels = learned[3]
    given = {}
    for kind in range(3):
        ids = [int(at) + 1 for at in np.flatnonzero(labels == kind)[:3]]
        knowledge.name(ids, f"digit {kind}")
        given |= dict.fromkeys(ids, f"digit {kind}")
    rows = knowledge.named()
    assert [row.id for row in rows] == list(range(1, 97))
    for row in rows:
        if row.id in given:
            assert (row.name, row.confidence, row.given) == (given[row.id], 1.0, True)
        else:
            assert {given[one] for one in row.decided_by} >= ({row.name} - {UNKNOWN})
            assert (row.name == UNKNOWN) == (row.confidence < knowledge.confident)
    summary = {one.name: one for one in knowledge.names()}
    assert [one.count for one in summary.values()] == [3, 3, 3]
    assert all(0 <= one.accuracy <= 1 for one in summary.values())


def test_without_a_name_every_image_is_unknown_and_one_name_is_enough(knowledge):
    assert {row.name for row in knowledge.named()} == {UNKNOWN}
    assert knowledge.names() == []
    knowledge.name([4], "four")
    assert knowledge.named([4])[0].name == "four"
    assert knowledge.names()[0].accuracy is None
    assert knowledge.unname([4, 5]) == 1
    assert knowledge.names() == []


@pytest.mark.parametrize(
    "name", ["", "  ", "a\x1b[2J", "a\nb", "x" * 101, "Unknown", "\ud800", None]
)
def test_a_name_that_is_none_is_refused(name, knowledge):
    with pytest.raises(InputError):
        knowledge.name([1], name)
    assert knowledge.names() == []


@pytest.mark.parametrize(
    "name", ["'; DROP TABLE names; --", "<script>", "../../x", "名前 🍎", "a/b"]
)
def test_a_hostile_name_is_text(name, knowledge):
    knowledge.name([1, 2], name)
    assert [one.name for one in knowledge.names()] == [name]


def test_images_that_are_not_there_are_refused(knowledge):
    knowledge.store.remove([3])
    for ids in ([0], [97], [3], [1, 2, 1000], [-1]):
        with pytest.raises(InputError, match="image"):
            knowledge.name(ids, "x")
    with pytest.raises(InputError, match="at least one"):
        knowledge.name([], "x")
    assert knowledge.names() == []
    assert 3 not in [hit.id for hit in knowledge.search(1, k=95).hits]


def test_groups_hold_unnamed_images_once_and_the_map_all(knowledge):
    knowledge.name([1, 2], "x")
    groups = knowledge.groups()
    ids = [one for group in groups for one in group.ids]
    assert len(ids) == len(set(ids))
    assert not {1, 2} & set(ids)
    points = knowledge.map(50, "pca")
    assert len(points) == 50
    assert all(0 <= point.x <= 1 and 0 <= point.y <= 1 for point in points)


def test_memory_is_told_by_the_numbers_of_images(knowledge):
    ids = knowledge.memory()
    kept = knowledge.learner.memory_.images.numpy()
    np.testing.assert_array_equal(knowledge.store.pixels(ids), kept)
