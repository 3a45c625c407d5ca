"""The error of records that contradict each other."""


class MetadataError(Exception):
    """Records contradict the records before them. The node stops, because its image is wrong."""
