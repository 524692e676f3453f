"""Other libraries: one file each, applied when the library is imported. Each says the version it was written for."""

from __future__ import annotations


def install() -> None:
    """At registration: what must hold before a device is used."""
    from torch_pjrt.integrations import accelerate, transformers

    accelerate.install()
    transformers.install()


def install_at_start() -> None:
    """When the client is made: what a process without a tpu must not notice."""
    from torch_pjrt.integrations import dynamo

    dynamo.install()
