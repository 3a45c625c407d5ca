"""Fetch requests: what they read, how they wait, and the sessions that make them short."""
