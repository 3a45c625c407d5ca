"""The answers to clients that log in with SCRAM under a name that no user has."""

from collections.abc import Callable

from gralha.metadata.image import MetadataImage
from gralha.security.sasl.scram import MECHANISM_NUMBERS, ScramCredential
from gralha.security.sasl.scram_fakes import ScramFakes


class FakeUsers:
    """The salts and iterations of names that no user of a mechanism has. All nodes give the same.

    The secret of a cluster is the least id of its folders. Only users who may list the users of SCRAM can
    find it out (both need DESCRIBE on the cluster). A broker with an even lesser id changes it.
    """

    def __init__(self, mechanism: str, image: Callable[[], MetadataImage | None], own_secret: bytes) -> None:
        """`own_secret` is that of a node which knows no cluster yet."""
        self._mechanism = mechanism
        self._image = image
        self._secret = own_secret
        self._fakes = ScramFakes(own_secret, mechanism, ())
        self._seen: MetadataImage | None = None

    def __call__(self, name: str) -> tuple[bytes, int]:
        image, seen = self._image(), self._seen
        if image is not None and (
            seen is None or image.scram is not seen.scram or image.brokers is not seen.brokers
        ):
            self._seen = image
            self._fakes = self._made_for(image)
        return self._fakes.salt_and_iterations(name)

    def _made_for(self, image: MetadataImage) -> ScramFakes:
        folders = [folder for broker in image.brokers.values() for folder in broker.log_dirs]
        number = MECHANISM_NUMBERS[self._mechanism]
        credentials = [ScramCredential(*one) for (_, kind), one in image.scram.items() if kind == number]
        return ScramFakes(min(folders, default=self._secret), self._mechanism, credentials)
