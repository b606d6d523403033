"""The texts that Space and static page share: how to run, how to submit, common questions.

Markdown of our own, no data in it.
"""

from __future__ import annotations

HOW_TO_RUN = """\
### Run it
```console
$ pip install pmb-hf
$ pmb run --provider bm25
$ pmb show reports/*.json
```
Any memory system that speaks the HTTP contract is run by `pmb run --provider http://127.0.0.1:8080`;
`pmb doctor URL` says first whether it is ready. In Python, an object with `reset`, `add` and
`search` is enough.
"""

HOW_TO_SUBMIT = """\
### Submit
Scores are never submitted: they are produced by a run. Hand in the wrapper of your system, so that
anyone can run it: its source, pinned dependencies, and how to start it. SUBMITTING.md in the source
tree says what belongs into it. To publish a board of your own:
```console
$ pmb export reports/*.json -o hf_export
$ pmb space --export hf_export
```
"""

QUESTIONS = (
    (
        "What are the three kinds of passes?",
        (
            "An active case needs at least one belief, and passes only if the right ones come "
            "back. A structural case asserts that nothing, or nothing wrong, comes back: a "
            "system that returns nothing passes it. A trivially empty case has a blank query or"
            " no room in its budget, so no provider can fail it. That is why returning nothing "
            "at all passes many cases, and why passes are shown by kind."
        ),
    ),
    (
        "Why does a high recall say little?",
        (
            "Whoever returns every belief has a recall of 1. The corpus is small, so a limit of"
            " twenty results can cover nearly all beliefs that are eligible. Read recall beside"
            " precision, and beside the row “everything”."
        ),
    ),
    (
        "Why is a wrong belief a failure and not a cost?",
        (
            "What a memory returns goes into a prompt. A belief that was superseded, belongs to"
            " another user or to another topic is acted upon there as if it were right."
        ),
    ),
    (
        "What are floor and ceiling?",
        (
            "Controls: returning nothing (empty), returning all of the user's beliefs "
            "(everything), and returning exactly what is needed (oracle). A system should be "
            "read against them."
        ),
    ),
    (
        "Why has a row no rank or no figures?",
        (
            "It can't be compared: cases are missing or got no answer, the answers were cut to "
            "a fixed length, it was run under other rules, or its figures are published and "
            "can't be checked. Its marks say which."
        ),
    ),
    (
        "What does a dash mean?",
        (
            "That the measure does not apply, for instance precision when no case needed a "
            "belief. It is left out of means; n tells how many cases a mean is over."
        ),
    ),
)

FAQ = "### Questions\n" + "\n".join(f"**{asked}** {told}\n" for asked, told in QUESTIONS)
