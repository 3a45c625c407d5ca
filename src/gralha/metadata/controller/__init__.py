"""The controller's decisions, one module for each subject.

A decision is a pure function of the image and a request: it answers with a `Decision`, the response and the
records that make it true, and changes nothing itself. `metadata.service` appends the records and lets the
response leave when they are committed. Whatever a decision says holds only if its records are applied to the
image it was made on, so decisions are made one after another on the newest image, uncommitted records
included.
"""
