"""Names of other packages that programs for TPUs import."""
