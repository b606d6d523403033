"""What computes vectors, as the embedder sees it, and helpers that several of them share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors: TypeAlias = npt.NDArray[np.float32]
    """Shape (n, dimensions)."""


class Source(Protocol):
    """Computes vectors. Texts are clean and hold more than blanks; length doesn't matter.

    Attributes:
        name: What it is called in reports: the name that made it.
        identity: What decides its vectors (model, version, service); vectors on
            disk are kept apart by it.
        costly: Whether reading a vector from disk is quicker than computing it.
    """

    name: str
    identity: str
    costly: bool

    def vectors(self, texts: Sequence[str]) -> Any:
        """One row of numbers a text.

        Raises:
            ProviderError: It came to nothing.
        """

    def close(self) -> None:
        """Let go of what is held."""


def batches(texts: Sequence[str], *, most: int, characters: int) -> Iterator[list[int]]:
    """Places of texts of like length, so that filling up a batch wastes little.

    A batch has at most ``most`` texts, and ``characters`` in all if each were as
    long as its longest; a text that is longer comes alone.
    """
    batch: list[int] = []
    for place in sorted(range(len(texts)), key=lambda place: len(texts[place])):
        if batch and (len(batch) == most or (len(batch) + 1) * len(texts[place]) > characters):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
