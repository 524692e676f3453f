"""torch_xla.distributed. Part of torch-pjrt."""
