"""The group coordinator: classic and consumer (KIP-848) groups, and their offsets."""
