"""The controller's decisions, one module for each subject.

A decision is a pure function of the image and a request. It returns a `Decision`: the response, and the
records that make it true. It changes nothing itself. `metadata.service` appends the records and sends the
response when they are committed. A decision is correct only if its records are applied to the image that it
was made on. So decisions are made one after another, on the newest image, which includes uncommitted records.
"""
