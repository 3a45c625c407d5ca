"""How a known bug is put back."""


def patch(owner: object, name: str, replacement: object) -> None:
    """Replace a function of a class or module. Raises an error if there is no function with that name."""
    if not hasattr(owner, name):
        raise AttributeError(f"there is no {name} to replace in {owner}")
    setattr(owner, name, replacement)
