"""Jobs on a real Ray cluster of two nodes, one of which dies in the middle."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_kit import environment, program
from engine_kit import Gate, job, without_times

pytest.importorskip("ray", reason="pip install 'pmb-hf[ray]'")
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

from pmb_hf.engines import DONE, create, perform, run_jobs
from pmb_hf.errors import InputError
from pmb_hf.grow import Recipe


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head and another node, each with one core; processes of Ray's own."""
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield made
    made.shutdown()


def test_a_lost_node_costs_only_its_jobs(cluster: Any, tmp_path: Path) -> None:
    """Two jobs wait, one on each node, when a node is killed; all end, and one was tried twice."""
    second = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    gates = [Gate(tmp_path / f"gate-{n}.json") for n in range(2)]
    jobs = [job(tmp_path, f"held{n}", **gate.fields) for n, gate in enumerate(gates)]
    jobs.append(job(tmp_path, "more", recipe=Recipe(40).to_wire()))

    def kill() -> None:
        ends = [gate.reached() for gate in gates]
        for gate in gates:
            gate.open_for_good()
        cluster.remove_node(second, allow_graceful=False)
        # A worker outlives its node for a moment, in which it could end its job after all.
        lost = Gate.first_to_leave(ends)
        for end in ends:
            if end != lost:
                Gate.let_go(end)

    threading.Thread(target=kill).start()
    engine = create("ray", address=cluster.address)
    outcomes = {outcome.job_id: outcome for outcome in run_jobs(engine, jobs, retries=2)}
    assert {name: o.status for name, o in outcomes.items()} == dict.fromkeys(outcomes, DONE)
    assert sorted(o.tries for o in outcomes.values()) == [1, 1, 2]
    here = perform(job(tmp_path / "here", "more", recipe=Recipe(40).to_wire()))
    assert without_times(here.report or "") == without_times(outcomes["more"].report or "")


def test_a_job_that_no_node_has_room_for_is_refused(cluster: Any, tmp_path: Path) -> None:
    engine = create("ray", address=cluster.address)
    with pytest.raises(InputError, match="wants 99 CPU"):
        list(run_jobs(engine, [job(tmp_path, num_cpus=99)]))


def test_a_sweep_on_ray_gives_the_results_of_this_machine(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(
        'parts = ["sessions"]\nsizes = [60]\n[[providers]]\nname = "bm25"\n'
        '[[providers]]\nname = "scripted"\noptions = { file = "missing.json" }\n'
    )
    for name, more in (("local", []), ("ray", ["--engine", "ray", "--address", cluster.address])):
        done = program("sweep", "sweep.toml", "-o", name, "--json", *more, cwd=tmp_path)
        assert done.code == 3, done.err
        statuses = [(row["id"], row["status"]) for row in done.json["jobs"]]
        assert [status for _, status in statuses] == ["done", "failed"]
    for report in (tmp_path / "local" / "reports").glob("*.json"):
        other = tmp_path / "ray" / "reports" / report.name
        assert without_times(report.read_text()) == without_times(other.read_text())


def test_an_interrupt_ends_a_task_on_the_cluster(cluster: Any, tmp_path: Path) -> None:
    import signal

    gate = Gate(tmp_path / "gate.json")
    (tmp_path / "sweep.toml").write_text(
        f'[[providers]]\nname = "scripted"\noptions = {{ file = "{gate.path}" }}\n'
    )
    command = [sys.executable, "-m", "pmb_hf", "sweep", "sweep.toml", "-o", "out"]
    command += ["--engine", "ray", "--address", cluster.address]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        end = gate.reached()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert gate.left(end)


def test_an_address_without_a_cluster_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text('[[providers]]\nname = "bm25"\n')
    more = ["--engine", "ray", "--address", "127.0.0.1:9"]
    done = program("sweep", "sweep.toml", "-o", "o", *more, cwd=tmp_path)
    assert done.code == 2
    assert "no Ray cluster at '127.0.0.1:9'" in done.err
