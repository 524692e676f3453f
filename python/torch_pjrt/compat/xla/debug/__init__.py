"""torch_xla.debug. Part of torch-pjrt."""
