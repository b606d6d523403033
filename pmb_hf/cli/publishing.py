"""``pmb push``: an export onto the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from .options import JsonOption, examples, hint
from .output import line, note, show_json

if TYPE_CHECKING:
    from ..hub.pushing import Plan, Pushed

EPILOG = examples(
    "pmb push --repo acme/precisionmembench --dry-run",
    "pmb push --repo acme/precisionmembench --what dataset --export hf_export",
    "pmb push --repo acme/precisionmembench --sdk static --private",
)
_SIGNS = {"added": "+", "changed": "~", "unchanged": "=", "deleted": "-", "not compared": "?"}


def push(
    repo: Annotated[
        str, typer.Option("--repo", metavar="ORG/NAME", help="The dataset; names the others, too.")
    ],
    what: Annotated[
        str, typer.Option("--what", metavar="PART", help="dataset, metric, space or all.")
    ] = "all",
    export: Annotated[
        Path, typer.Option("--export", metavar="DIR", help="What `pmb export` wrote.")
    ] = Path("hf_export"),
    private: Annotated[
        bool, typer.Option("--private", help="Make new repositories private.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show every file and what becomes of it; write none. If the Hub can't be reached, "
            "the files are shown and not compared.",
        ),
    ] = False,
    create_pr: Annotated[
        bool, typer.Option("--create-pr", help="Propose the changes as pull requests.")
    ] = False,
    sdk: Annotated[
        str, typer.Option("--sdk", metavar="SDK", help="Of the Spaces: gradio, or static (free).")
    ] = "gradio",
    metric_repo: Annotated[
        str | None,
        typer.Option("--metric-repo", metavar="ORG/NAME", help="The metric, if not as --repo."),
    ] = None,
    space_repo: Annotated[
        str | None,
        typer.Option(
            "--space-repo", metavar="ORG/NAME", help="The board, if not <repo>-leaderboard."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Publish dataset, metric and leaderboard on the Hub.

    Each repository gets one commit, or none if nothing changed. What an earlier
    push put there and the export no longer has is deleted; other files are left
    alone. The token is HF_TOKEN's, or that of `hf auth login`.
    """
    from ..hub.names import PARTS, SDKS, names
    from ..hub.pushing import plan
    from ..hub.pushing import push as publish

    if what not in (*PARTS, "all"):
        raise InputError(f"--what {what!r} is unknown{hint(what, [*PARTS, 'all'])}")
    if sdk not in SDKS:
        raise InputError(f"--sdk {sdk!r} is unknown{hint(sdk, SDKS)}")
    named = names(repo, metric=metric_repo, space=space_repo)
    parts = PARTS if what == "all" else (what,)
    if dry_run:
        plans = plan(export, named, parts=parts, sdk=sdk)
        away = next((found.away for found in plans if found.away), None)
        if away:
            note(f"note: {away}; so the files were compared with nothing")
        if as_json:
            show_json({"dryRun": True, "repositories": [_plan_view(p) for p in plans]})
        else:
            _tell_plans(plans, private)
        return
    done = publish(export, named, parts=parts, sdk=sdk, private=private, create_pr=create_pr)
    if as_json:
        show_json({"dryRun": False, "repositories": [_pushed_view(p) for p in done]})
    else:
        _tell(done, create_pr)


def _plan_view(plan: Plan) -> dict[str, Any]:
    package = plan.package
    return {
        "part": package.part,
        "type": package.repo_type,
        "repo": package.repo,
        "url": plan.url,
        "exists": None if plan.away else plan.head is not None,
        "compared": plan.away is None,
        "files": [change._asdict() for change in plan.changes],
    }


def _pushed_view(pushed: Pushed) -> dict[str, Any]:
    return _plan_view(pushed.plan) | {
        "created": pushed.created,
        "commit": pushed.commit,
        "url": pushed.url,
        "attempts": pushed.attempts,
        "notes": list(pushed.notes),
    }


def _tell_plans(plans: Sequence[Plan], private: bool) -> None:
    for number, plan in enumerate(plans):
        if number:
            line("")
        package, head = plan.package, plan.head
        kind = "dataset" if package.repo_type == "dataset" else f"Space ({package.sdk})"
        state = "there" if head else f"new{', private' if private else ''}"
        state = "not known whether it is there" if plan.away else state
        line(f"{package.part}: {kind} {package.repo} ({state})  {plan.url}")
        width = max(len(change.path) for change in plan.changes)
        for change in plan.changes:
            line(f"  {_SIGNS[change.kind]} {change.path:<{width}}  {_sizes(change)}")
        line(f"  {_counts(plan)}")
        if private and head is not None and not head.private:
            note(f"note: {package.repo} is public already; with --private, push will refuse it")
    line("")
    line("nothing was written")


def _tell(done: Sequence[Pushed], create_pr: bool) -> None:
    for pushed in done:
        package = pushed.plan.package
        for text in pushed.notes:
            note(f"note: {package.repo}: {text}")
        if pushed.commit is None:
            line(f"{package.part}: nothing to do, no commit made  {pushed.url}")
        else:
            did = "proposed" if create_pr else "published"
            line(f"{package.part}: {did} {_counts(pushed.plan)}  {pushed.url}")


def _counts(plan: Plan) -> str:
    kinds = [change.kind for change in plan.changes]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in _SIGNS if kind in kinds)


def _sizes(change: Any) -> str:
    sizes = [f"{size:,} B" for size in (change.old_size, change.size) if size is not None]
    if change.kind == "deleted":
        return f"{sizes[0]}, deleted"
    return f"{sizes[-1]}, {change.kind}" if change.kind != "changed" else " -> ".join(sizes)
