"""Which records are one group, and what groups are called, in tables and figures alike."""

from __future__ import annotations

from typing import Any

import pytest

from scale.report import make_table
from scale.report.groups import Group, floors_of, make_groups
from scale.report.names import not_recorded, settings_of
from scale.report.plots import Selection, draw_bars
from scale.report.plots.axes import drawn_groups

from .records import CODE, of_variant, record, without

Records = list[dict[str, Any]]


def names(records: Records) -> dict[str, int]:
    """Return the learners' groups and how many seeds each has."""
    return {group.name: group.seeds for group in make_groups(records)}


def two_variants(**marks: str) -> Records:
    of_seeds = []
    for seed in range(2):
        of_seeds.append(of_variant("with", seed, **marks))
        of_seeds.append(of_variant("without", seed, params={"lam": 0.0}, **marks))
    return of_seeds


def mixed() -> Records:
    """Records with most of what can differ: settings, code, age, evaluations, device."""
    found = [record("scale", seed, params={"steps_per_batch": 5}) for seed in range(2)]
    found += [record("er", seed, params={"steps_per_batch": 5}) for seed in range(2)]
    found += [record("er", 2, params={"steps_per_batch": 5, "device": "cuda"})]
    found += [record("er", 0, params={"steps_per_batch": 5, "tau": 0.2}, stream="iid")]
    found += [record("er", 0, evaluations=5), record("er", 0, code=CODE), record("mine", 1)]
    found += [without(record("scale", 1), "similarity"), record("er", samples_per_class=99)]
    return found


def test_tables_and_figures_group_the_same_records_alike_and_give_them_the_same_names() -> None:
    def told(groups: list[Group]) -> set[tuple[Any, ...]]:
        return {(*g.place, g.name, g.seeds, tuple(g.values("knn"))) for g in groups}

    for records in (mixed(), two_variants(), [*two_variants(), record("scale", 1)]):
        rows = make_table(records).rows
        learners = [row for row in rows if not row.is_floor]
        drawn = drawn_groups(Selection(records))
        assert told(learners) == told(drawn)
        floors = [row for row in rows if row.is_floor]
        assert told(floors) == told(floors_of(drawn))


def test_a_bar_has_the_name_of_its_row() -> None:
    records = [record("scale"), record("er", params={"tau": 0.2}), record("er", code=CODE)]
    (axes,) = draw_bars(Selection(records)).axes
    below = {label.get_text().replace("\n", " ") for label in axes.get_xticklabels()}
    assert below == set(names(records))


def test_a_record_without_a_parameter_is_not_read_as_todays_default() -> None:
    today, old = record("scale-plus"), without(record("scale-plus", 1), "readout_views")
    assert "readout_views" not in settings_of(old)
    assert not_recorded(settings_of(old)) == ["readout_views"]
    assert names([today, old]) == {"scale-plus": 1, "scale-plus, readout_views not recorded": 1}
    assert names([old]) == {"scale-plus": 1}, "nothing else to distinguish it from"
    assert "Settings not recorded: readout_views." in make_table([old]).notes()
    assert make_table([today]).notes() == ["Code not recorded for any row."]


def test_rows_of_older_settings_are_marked_where_others_are_not() -> None:
    table = make_table([record("er"), without(record("scale"), "similarity", "past_projector")])
    marked = {row.name: table.name(i) for i, row in enumerate(table.rows)}
    assert (marked["er"], marked["scale"]) == ("er", "scale ‡")
    assert "‡ Settings not recorded: similarity, past_projector." in table.notes()


def test_an_option_that_the_protocol_of_the_record_shows_is_recorded() -> None:
    old = without(record(), "bank_size") | {"protocol": {"bank_size": 1000}}
    new = record(seed=1) | {"protocol": {"bank_size": 1000}}
    assert names([old, new]) == {"er": 2}
    assert names([old, record(seed=1)])["er, bank_size 1000"] == 1


def test_a_parameter_that_a_method_does_not_have_is_kept_as_recorded() -> None:
    gone = record("er", params={"telepathy": 3})
    assert names([gone, record("er", 1)]) == {"er, telepathy 3": 1, "er": 1}
    assert names([gone]) == {"er, telepathy 3": 1}


def test_the_form_of_cla_is_part_of_the_method() -> None:
    records = [record("cla", params={"form": "E"}), without(record("cla", 1), "form")]
    assert names(records) == {"cla": 2}
    assert not make_groups(records)[0].missing
    assert names([record("cla", params={"form": "R"})]) == {"cla, form R": 1}


def test_records_of_different_code_are_never_one_group() -> None:
    other = {"digest": "c" * 40}
    records = [record(), record(seed=1, code=CODE), record(seed=2, code=other)]
    assert names(records) == {
        "er, code not recorded": 1,
        "er, code bbbbbbbbb": 1,
        "er, code ccccccccc": 1,
    }
    table = make_table(records, ["knn", "code"])
    assert {table.cell(i, "code") for i in range(3)} == {"not recorded", "b" * 9, "c" * 9}


def test_rows_without_code_are_marked_where_others_have_it() -> None:
    table = make_table([record("er"), record("simclr", code=CODE, knn=60.0)])
    marked = [table.name(i) for i, row in enumerate(table.rows) if not row.is_floor]
    assert marked == ["simclr", "er †"]
    assert "† Code not recorded." in table.notes()
    assert make_table([record(code=CODE)]).notes() == []


def test_seed_threads_and_device_are_no_settings_and_the_last_record_of_a_seed_counts() -> None:
    records = [record(threads=1), record(seed=1, params={"device": "cuda"}), record(knn=60.0)]
    (group,) = make_groups(records)
    assert group.measured["knn"] == {0: 60.0, 1: 50.0}


def test_settings_that_all_rows_share_are_said_once() -> None:
    records = [record(m, params={"steps_per_batch": 5}) for m in ("er", "simclr")]
    assert names(records) == {"er": 1, "simclr": 1}
    assert make_table(records).notes()[0] == "Shared settings: steps_per_batch 5."
    assert names(records[:1]) == {"er, steps_per_batch 5": 1}


def test_the_precision_of_a_row_is_the_one_that_its_learner_chose() -> None:
    def chose(method: str, precision: str) -> dict[str, Any]:
        return record(method) | {"learner": {"precision": precision}}

    assert settings_of(chose("er", "bf16"))["precision"] == "bf16"
    fp32, older = chose("er", "fp32"), without(record("er", 1), "precision")
    assert settings_of(fp32) == settings_of(older), "all older runs are in fp32"
    both = make_table([chose("er", "bf16"), chose("simclr", "bf16"), record("pixels")])
    assert "Shared settings: precision bf16." in both.notes()
    assert names([fp32, chose("simclr", "bf16")]) == {"er": 1, "simclr, precision bf16": 1}


def test_rows_of_one_experiment_have_its_variants_names() -> None:
    assert names(two_variants()) == {"with": 2, "without": 2}
    assert names([of_variant("one"), of_variant("two")]) == {"one": 1, "two": 1}
    assert names([of_variant("", params={"lam": 0.5})]) == {"scale, lam 0.5": 1}


def test_rows_of_several_sources_are_named_by_settings_and_seeds_count_once() -> None:
    described = {"scale": 2, "scale, lam 0.0": 2}
    assert names(two_variants() + two_variants(experiment="other")) == described
    assert names([*two_variants(), record("scale", 2)]) == {"scale": 3, "scale, lam 0.0": 2}


def test_rows_of_one_name_are_told_apart_by_what_differs_from_the_default() -> None:
    ran = [of_variant("with", params={"steps_per_batch": n, "tau": 0.2}) for n in (1, 5)]
    assert names(ran) == {"with, steps_per_batch 1": 1, "with, steps_per_batch 5": 1}
    assert names([record(evaluations=5), record()]) == {"er, evaluations 5": 1, "er": 1}


def test_a_given_default_is_the_same_as_none_and_numbers_are_compared_by_value() -> None:
    protocol = {"protocol": {"samples_per_class": 4096, "bank_size": 1000}}
    data = {"images": 40960, "batches": 160, "skipped": []}
    given = record(seed=1, stream_batch=256, samples_per_class=4096, bank_size=1000)
    (group,) = make_groups([record() | protocol | {"data": data}, given | protocol])
    assert (group.stream, group.seeds) == ("seq", 2)
    numbers = [record("scale", params={"lam": 0}), record("scale", 1, params={"lam": 0.0})]
    assert len(names(numbers)) == 1


def test_other_streams_and_evaluation_sets_are_other_places() -> None:
    groups = make_groups([record(), record(samples_per_class=100), record(validation=True)])
    assert {g.stream for g in groups} == {"seq", "seq, samples_per_class 100", "seq, validation"}
    (group,) = make_groups([record(validation=True)])
    assert group.title == "mnist, seq, validation"


def test_a_floor_gives_way_to_a_run_of_the_same_computation_only() -> None:
    learner = [record(seed=seed) for seed in range(2)]

    def floors(*more: dict[str, Any]) -> set[str]:
        return {floor.name for floor in floors_of(make_groups([*learner, *more]))}

    everything = {"floor: random", "floor: pixels", "floor: pca (bank)"}
    assert floors() == floors(record("pixels")) == everything
    assert floors(*(record("pixels", seed) for seed in range(2))) == everything - {"floor: pixels"}
    assert floors(*(record("pca", seed) for seed in range(2))) == everything, "another pca"


def test_groups_of_known_and_of_unknown_code_have_floors_of_their_own() -> None:
    floors = floors_of(make_groups([record(), record(code=CODE)]))
    pixels = {floor.name: bool(floor.code) for floor in floors if "pixels" in floor.name}
    assert pixels == {"floor: pixels": True, "floor: pixels, code not recorded": False}


def test_the_lowest_knn_leaves_out_the_first_tenth_and_floors_never_change() -> None:
    curve = {"position": [0, 99, 100, 500, 1000], "knn": [1.0, 2.0, 33.0, 31.0, 50.0]}
    groups = make_groups([record(marks={"curve": curve})])
    assert groups[0].measured["least"] == {0: 31.0}
    (pca,) = (floor for floor in floors_of(groups) if "pca" in floor.name)
    assert pca.measured["least"] == pca.measured["average"] == {0: 40.0}
    assert make_groups([record()])[0].values("least") == []


@pytest.mark.parametrize("value", [None, "absent"])
def test_a_measure_that_one_seed_lacks_is_averaged_over_the_others(value: str | None) -> None:
    records = [record(seed=seed) for seed in range(2)]
    records[0]["summary"]["acc"] = value
    if value == "absent":
        del records[0]["summary"]["acc"]
    (group,) = make_groups(records)
    assert (group.seeds, group.cell("acc")) == (2, "25.00")
