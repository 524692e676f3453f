"""Numbers as people read them."""

from __future__ import annotations

_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def format_bytes(number: int) -> str:
    """1536 -> "1.5 KiB"."""
    for size, unit in _UNITS:
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number} B"
