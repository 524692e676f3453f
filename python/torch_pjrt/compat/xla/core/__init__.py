"""torch_xla.core. Part of torch-pjrt."""
