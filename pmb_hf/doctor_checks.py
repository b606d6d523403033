"""The checks of the doctor, one function each.

Each returns what it saw, raises `Fault` or `NotTried`, or lets an `HttpFailure`
through.
"""

from __future__ import annotations

import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .doctor_kit import OTHER_SCOPE, SCOPE, Fault, Kit, Memory, NotTried
from .providers.http_calls import Call
from .providers.http_errors import AnswerError, HttpStatusError, UnsupportedError


def reachable(kit: Kit) -> str:
    """Something answers at the URL, whatever it says."""
    try:
        kit.call(Call("GET", "/health"))
    except HttpStatusError as error:
        if error.code in {401, 403}:
            raise Fault(f"it lets nobody in: {error}") from error
    except AnswerError:
        pass  # that is for the next check
    return "it answers"


def health(kit: Kit) -> str:
    """``GET /health`` is what it should be, or is not there."""
    try:
        said = kit.optional(Call("GET", "/health")).json
    except UnsupportedError:
        raise NotTried("there is no GET /health; it is optional") from None
    if not isinstance(said, dict):
        raise Fault("GET /health answered something that is no JSON object")
    told = [str(said[key]) for key in ("provider", "version") if said.get(key)]
    return " ".join(told) or "it tells neither provider nor version"


def reset(kit: Kit) -> str:
    """``DELETE /reset`` leaves nothing of two users. The only check that harms the store."""
    kit.call(Call("DELETE", "/reset"))
    before = [
        kit.memory(f"before{user}", "The dock {m} is flooded.", user=user) for user in ("a", "b")
    ]
    for memory in before:
        kit.add(memory)
    for memory in before:
        kit.until(lambda memory=memory: bool(kit.find(memory)))  # type: ignore[misc]
    kit.call(Call("DELETE", "/reset"))
    for memory in before:
        left = kit.search(memory.text, memory.user_id)
        if left:
            raise Fault(f"after it, a search of user {memory.user_id!r} still finds {len(left)}")
    return "nothing is left after it"


def round_trip(kit: Kit) -> str:
    """What is written can be found. Then everything else is written, for the other checks."""
    memory = kit.memories["first"]
    kit.add(memory)
    started = time.monotonic()
    if not kit.until(lambda: bool(kit.find(memory))):
        raise Fault(
            f"a memory was written, but searches for exactly its text missed it "
            f"for {kit.patience_s:g} s"
        )
    kit.visible_ms = (time.monotonic() - started) * 1000
    kit.add_all()
    return "what is written can be found"


def ids(kit: Kit) -> str:
    """A result names the memory by an id that a run understands."""
    memory = kit.memories["first"]
    row = kit.find(memory)[0]
    if kit.id_of(row) is None:
        raise Fault(f"the memory was found, but under the id {row.id!r}, which nobody knows")
    if row.id == memory.id:
        return "results[].id is the id that was given"
    if row.belief_id == memory.id:
        return "results[].metadata.beliefId is the id that was given"
    return "results[].id is the id that POST /add answered"


def visibility(kit: Kit) -> str:
    """How long the first write took to show."""
    return f"a new memory can be found after {kit.visible_ms:.0f} ms"


def users(kit: Kit) -> str:
    """Nobody sees what another user wrote."""
    mine, other = kit.expect("first"), kit.expect("stranger")
    for memory, asking in ((mine, other.user_id), (other, mine.user_id)):
        if any(kit.is_row(row, memory) for row in kit.search(memory.text, asking)):
            raise Fault(f"a search of user {asking!r} finds a memory of {memory.user_id!r}")
    rows = kit.search(mine.text, kit.user("nobody"))
    if rows:
        raise Fault(f"a user without memories finds {len(rows)}")
    return "users do not see each other's memories"


def limit(kit: Kit) -> str:
    """A limit of 1 is kept."""
    boats = [kit.expect(f"boat{n}") for n in "123"]
    rows = kit.search(f"boat {kit.word('boat')}", boats[0].user_id, limit=1)
    if len(rows) > 1:
        raise Fault(f"a search with limit 1 gives {len(rows)} results")
    return "a search with limit 1 gives no more than one result"


def limit_zero(kit: Kit) -> str:
    """A limit of 0 is kept."""
    try:
        rows = kit.search(kit.word("boat"), kit.user(), limit=0)
    except HttpStatusError as error:
        if error.code is not None and error.code < 500:
            return f"a search with limit 0 is refused with {error.code}"
        raise
    if rows:
        raise Fault(f"a search with limit 0 gives {len(rows)} results")
    return "a search with limit 0 gives none"


def unicode(kit: Kit) -> str:
    """Letters beyond ASCII are kept."""
    memory = kit.expect("unicode")
    texts = [row.text for row in kit.find(memory) if row.text and memory.marker in row.text]
    if texts and not any(word in _nfc(texts[0]) for word in ("Café", "Zürich", "抹茶", "кофе")):
        raise Fault(f"the text came back without its letters beyond ASCII: {texts[0][:60]!r}")
    return "letters beyond ASCII go there and back"


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def long_text(kit: Kit) -> str:
    """A text of 10 kB is taken and can be found."""
    kit.expect("long")
    return "a text of 10 kB can be found by its beginning"


def empty_query(kit: Kit) -> str:
    """An empty query is answered or refused."""
    try:
        kit.search("", kit.user())
    except HttpStatusError as error:
        if error.code is None or error.code >= 500:
            raise
        return f"an empty query is refused with {error.code}"
    return "an empty query does no harm"


def scopes(kit: Kit) -> str:
    """A scope may be a string or a list, where it is written and where it is asked for."""
    one, two = kit.expect("first"), kit.expect("listed")
    forms: list[tuple[str, Memory, Any]] = [
        ("a string", one, SCOPE),
        ("a list", one, [OTHER_SCOPE, SCOPE]),
        ("a string", two, OTHER_SCOPE),
        ("a list", two, [SCOPE]),
    ]
    for form, memory, scope in forms:
        if not kit.find(memory, scope=scope):
            written = "a list" if isinstance(memory.scope, list) else "a string"
            raise Fault(
                f"with the scope as {form} ({scope!r}), a search misses a memory whose scope "
                f"was written as {written} ({memory.scope!r})"
            )
    filters = not kit.find(one, scope=OTHER_SCOPE)
    told = "another scope hides a memory" if filters else "the scope is no filter"
    return f"the scope may be a string or a list; {told}"


def scope_null(kit: Kit) -> str:
    """No scope means all scopes."""
    if not kit.find(kit.expect("first"), scope=None):
        raise Fault("with the scope null, a search misses a memory")
    return "with the scope null, all scopes are searched"


def wait(kit: Kit) -> str:
    """``POST /wait`` means what it says."""
    memory = kit.memory("waited", "The pilot {m} comes aboard.")
    kit.add(memory)
    body = {"timeout_s": kit.patience_s}
    try:
        kit.optional(Call("POST", "/wait", body, timeout_s=kit.patience_s + 1))
    except UnsupportedError:
        raise NotTried("there is no POST /wait; searches are repeated instead") from None
    if not kit.find(memory):
        raise Fault("POST /wait said yes, but a search right after it misses the new memory")
    return "after it, what was written can be found"


def update(kit: Kit) -> str:
    """``PUT /update`` replaces a memory."""
    old = kit.expect("change")
    new = old._replace(
        text=kit.text("changed", "Sunlight {m} charges batteries."), marker=kit.word("changed")
    )
    try:
        kit.update(new)
    except UnsupportedError:
        raise NotTried(
            "there is no PUT /update: a change is a delete and an add, or not measured"
        ) from None

    def shows() -> bool:
        return any(old.marker not in (row.text or "") for row in kit.find(new))

    if not kit.until(shows):
        raise Fault("PUT /update was accepted, but a search does not show the new text")
    rows = kit.search(f"{old.text} {new.text}", old.user_id)
    versions = [row for row in rows if kit.id_of(row) == old.id]
    if len(versions) > 1 or any(old.marker in (row.text or "") for row in rows):
        raise Fault("PUT /update left the old version beside the new one")
    return "a change can be found"


def update_unknown(kit: Kit) -> str:
    """``PUT /update`` refuses a memory that is not there."""
    try:
        kit.update(kit.memory("unknown", "The mast {m} is missing."))
    except HttpStatusError as error:
        if error.code is None or error.code >= 500:
            raise
        return f"a change of an unknown memory is refused with {error.code}"
    raise Fault("PUT /update of an unknown memory was accepted")


def delete(kit: Kit) -> str:
    """``DELETE /delete`` takes away one memory."""
    memory, other = kit.expect("gone"), kit.expect("first")
    try:
        kit.delete(memory)
    except UnsupportedError:
        raise NotTried("there is no DELETE /delete; it is optional") from None
    if not kit.until(lambda: not any(memory.marker in (row.text or "") for row in _all(kit))):
        raise Fault("DELETE /delete was accepted, but a search still finds the memory")
    if any(row.id == memory.id or row.belief_id == memory.id for row in _all(kit)):
        raise Fault("DELETE /delete was accepted, but a search still finds the id")
    if not kit.find(other):
        raise Fault("DELETE /delete of one memory took another one with it")
    return "a deleted memory can't be found"


def _all(kit: Kit) -> list[Any]:
    memory = kit.memories["gone"]
    return kit.search(memory.text, memory.user_id)


def same_text(kit: Kit) -> str:
    """Two memories may have the same text."""
    pair = {kit.memories[name].id for name in ("twin", "double")}
    kit.expect("twin")
    kit.expect("double")
    rows = kit.search(kit.memories["twin"].text, kit.user())
    if not pair <= {kit.id_of(row) for row in rows}:
        raise Fault("of two memories with the same text and two ids, a search finds one")
    return "two memories may have the same text"


def same_id(kit: Kit) -> str:
    """A memory that is added again is replaced."""
    memory = kit.expect("again")
    kit.add(memory._replace(text=kit.text("again", "The anchor {m} weighs ten kilos.")))
    kit.until(lambda: any("ten" in (row.text or "ten") for row in kit.find(memory)))
    rows = kit.search(memory.text, memory.user_id)
    if sum(kit.id_of(row) == memory.id for row in rows) > 1:
        raise Fault("a memory that was added twice under one id is found twice")
    return "adding under the same id again replaces"


def bad_body(kit: Kit) -> str:
    """A body that makes no sense is refused."""
    codes = []
    for path in ("/search", "/add"):
        call = Call("POST", path, {"nonsense": True})
        try:
            code = kit.call(call).code
        except HttpStatusError as error:
            codes.append(str(error.code))
            continue
        raise Fault(f"{call} with a body that makes no sense was answered with {code}")
    return f"a body that makes no sense is refused with {' and '.join(codes)}"


def concurrency(kit: Kit) -> str:
    """Searches at the same time do not disturb each other."""
    wanted = [kit.expect(name) for name in ("again", "boat1", "boat2", "boat3")]
    alone = [_best(kit, memory) for memory in wanted]
    with ThreadPoolExecutor(len(wanted)) as pool:
        together = list(pool.map(lambda memory: _best(kit, memory), wanted))
    mixed_up = sum(one != other for one, other in zip(alone, together, strict=True))
    if mixed_up:
        raise Fault(f"of 4 searches at once, {mixed_up} got another answer than they get alone")
    return "4 searches at once get what they get alone"


def _best(kit: Kit, memory: Memory) -> list[tuple[str | None, str | None]]:
    return [(row.id, row.text) for row in kit.search(memory.text, memory.user_id, limit=1)]
