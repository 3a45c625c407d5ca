"""A whole cluster in one process, deterministic: virtual time, a faulty network, disks that forget."""
