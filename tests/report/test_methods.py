"""What `scale methods` says, from the registries alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields

import pytest
from rich.console import Console

from scale.cli import main
from scale.memory import POLICIES, Policy, PolicyKnowledge
from scale.methods import METHODS, Costs, Knowledge, SimCLR, register_method
from scale.report import all_facts, method_facts, methods_markdown, methods_on_terminal


@pytest.fixture
def outsider(monkeypatch: pytest.MonkeyPatch) -> type[SimCLR]:
    """A method that someone registers from outside, which knows all that can be known."""
    monkeypatch.setattr(METHODS, "_entries", dict(METHODS._entries))

    @register_method("all-knowing")
    @dataclass(kw_only=True)
    class AllKnowing(SimCLR):
        """Knows everything [and says so].

        At length, in a paragraph
        of two lines.

        References
        ----------
        Nobody (2099), A paper that is
        not written.

        Examples
        --------
        >>> 1
        1
        """

        knows = Knowledge(labels=True, boundaries=True, num_classes=True, many_passes=True)
        presets = {"shy": {"lr": 0.5}}  # noqa: RUF012

        tau: float = 0.7
        omens: int = 3
        """How many
        omens."""

        def costs(self) -> Costs:
            return Costs("a crystal ball", views=11, replayed_views=22, backwards=33)

    return AllKnowing


def test_every_method_says_what_it_is_and_explains_every_parameter() -> None:
    for facts in all_facts()["methods"]:
        named = [parameter["name"] for parameter in facts["parameters"]]
        assert named == [field.name for field in fields(METHODS[facts["name"]])]
        assert facts["description"].endswith("."), facts["name"]
        for parameter in facts["parameters"]:
            assert parameter["help"].endswith("."), (facts["name"], parameter)


def test_every_policy_says_what_it_is() -> None:
    for facts in all_facts()["memory_policies"]:
        assert issubclass(POLICIES[facts["name"]], Policy)
        assert facts["description"].endswith("."), facts["name"]
        assert facts["knows"].keys() == {field.name for field in fields(PolicyKnowledge)}


def test_a_method_from_outside_is_described_like_ours(outsider: type[SimCLR]) -> None:
    facts = method_facts("all-knowing")
    assert facts["description"] == "Knows everything [and says so]."
    assert facts["about"] == "At length, in a paragraph of two lines."
    assert facts["reference"] == "Nobody (2099), A paper that is not written."
    assert facts["knows"] == dict.fromkeys(
        ("labels", "boundaries", "num_classes", "many_passes"), True
    )
    assert (facts["memory"], facts["views"]) == ("a crystal ball", 11)
    assert (facts["replayed_views"], facts["backwards"]) == (22, 33)
    parameters = {p["name"]: (p["default"], p["help"]) for p in facts["parameters"]}
    assert parameters["omens"] == (3, "How many omens.")
    value, text = parameters["tau"]
    assert value == 0.7
    assert text.startswith("Temperature of the contrastive loss"), "the parent's text"


@pytest.mark.parametrize("width", [80, 240])
def test_the_tables_show_every_method_and_policy_at_any_width(
    width: int, outsider: type[SimCLR]
) -> None:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(*methods_on_terminal(all_facts(), width), sep="\n")
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= width
    for name in (*METHODS, *POLICIES):
        assert any(line.startswith(f" {name} ") for line in lines), name
    assert "…" not in captured.get(), "nothing is cut off"
    shown = " ".join(captured.get().split())
    assert "[and says so]" in shown
    assert "a crystal ball" in shown


def test_the_markdown_has_one_line_per_method(outsider: type[SimCLR]) -> None:
    lines = methods_markdown(all_facts()).splitlines()
    known = "labels, boundaries, number of classes, many passes"
    row = f"| all-knowing | {known} | a crystal ball | 11 | 22 | 33 | Knows everything"
    assert sum(line.startswith(row) for line in lines) == 1
    for name in (*METHODS, *POLICIES):
        assert sum(line.startswith(f"| {name} |") for line in lines) >= 1


def test_the_json_has_stable_keys(
    capsys: pytest.CaptureFixture[str], outsider: type[SimCLR]
) -> None:
    assert main(["methods", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts.keys() == {"methods", "memory_policies", "paper_table"}
    assert [method["name"] for method in facts["methods"]] == list(METHODS)
    assert [method["name"] for method in facts["methods"] if method["default"]] == ["scale-plus"]
    for method in facts["methods"]:
        assert set(method) == {
            *("name", "description", "about", "default", "reference", "knows", "learns"),
            *("memory", "views", "replayed_views", "backwards", "presets", "parameters"),
        }
    assert main(["methods", "all-knowing", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["presets"] == {"shy": {"lr": 0.5}}


def test_one_method_is_shown_with_its_parameters_presets_and_reference(
    capsys: pytest.CaptureFixture[str], outsider: type[SimCLR]
) -> None:
    assert main(["methods", "all-knowing"]) == 0
    text = capsys.readouterr().out
    for part in ("[and says so]", "--omens", "How many omens.", "--preset shy", "lr 0.5", "(2099)"):
        assert part in text


def test_a_pipe_gets_each_method_on_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(["methods"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = (line for line in lines if line.startswith(" supcon "))
    facts = method_facts("supcon")
    assert line.rstrip().endswith(facts["description"])
    assert facts["memory"] in line


def test_labels_are_known_to_those_that_say_so_alone() -> None:
    known = {m["name"] for m in all_facts()["methods"] if m["knows"]["labels"]}
    assert known == {name for name in METHODS if METHODS[name]().needs_labels}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [(["scal"], "did you mean 'scale'"), (["scale", "--markdown"], "--markdown")],
)
def test_a_mistake_gets_one_clear_line(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["methods", *arguments]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1
