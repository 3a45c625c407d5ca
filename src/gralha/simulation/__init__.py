"""A deterministic cluster in one process: virtual time, a faulty network, disks that lose unsynced data."""
