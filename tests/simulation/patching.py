"""How a known bug is put back."""


def patch(owner: object, name: str, replacement: object) -> None:
    """Replace a function of a class or module. One that is gone, or has another name now, is an error."""
    if not hasattr(owner, name):
        raise AttributeError(f"there is no {name} to replace in {owner}")
    setattr(owner, name, replacement)
