"""Memory: a limit of a container or cgroup counts like that of the machine."""

from pathlib import Path

import pytest

from scale._machine import _physical_bytes, memory_bytes, memory_in_words, memory_limit

V1 = "30 24 0:26 {seen} /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,memory\n"
V2 = "30 24 0:26 {seen} /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
OTHER = "29 24 0:25 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"


def machine(root: Path, own: str, mounts: str, limits: dict[str, str]) -> Path:
    """Make the files that Linux shows of cgroups."""
    files = {"proc/self/cgroup": own, "proc/self/mountinfo": OTHER + mounts, **limits}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_least_limit_of_a_version_2_cgroup_and_its_parents_counts(tmp_path: Path) -> None:
    top = "sys/fs/cgroup"
    limits = {
        f"{top}/memory.max": "max\n",
        f"{top}/user/memory.max": "2000\n",
        f"{top}/user/app/memory.max": "3000\n",
        f"{top}/user/other/memory.max": "10\n",
    }
    root = machine(tmp_path, "0::/user/app\n", V2.format(seen="/"), limits)
    assert memory_limit(root) == 2000


def test_the_limit_of_a_version_1_cgroup_counts(tmp_path: Path) -> None:
    top = "sys/fs/cgroup/memory"
    limits = {
        f"{top}/memory.limit_in_bytes": f"{2**63 - 4096}\n",
        f"{top}/job/memory.limit_in_bytes": "5000\n",
    }
    own = "5:cpu:/\n4:hugetlb,memory:/job\n0::/\n"
    root = machine(tmp_path, own, V1.format(seen="/"), limits)
    assert memory_limit(root) == 5000


@pytest.mark.parametrize("own", ["/docker/a", "/docker/ab", "/"])
def test_a_container_sees_its_own_cgroup_at_the_top(own: str, tmp_path: Path) -> None:
    limits = {"sys/fs/cgroup/memory/memory.limit_in_bytes": "7000\n"}
    root = machine(tmp_path, f"4:memory:{own}\n", V1.format(seen="/docker/a"), limits)
    assert memory_limit(root) == 7000


def test_without_cgroups_the_machine_is_the_limit(tmp_path: Path) -> None:
    assert memory_limit(tmp_path) == float("inf")
    limits = {"sys/fs/cgroup/memory.max": "max\n"}
    unlimited = machine(tmp_path / "other", "0::/\n", V2.format(seen="/"), limits)
    assert memory_limit(unlimited) == float("inf")
    assert 0 < memory_bytes() <= _physical_bytes()
    assert memory_in_words().split(" ")[-1] in ("MB", "GB", "TB")
