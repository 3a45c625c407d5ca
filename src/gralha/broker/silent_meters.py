"""Meters that do nothing. `make bench` compares a broker that has them with one that counts its requests."""

from mypy_extensions import i64

from gralha.broker.request_meters import ApiMeter, ReadMeter, RequestMeters
from gralha.protocol.message import Message


class SilentMeters(RequestMeters):
    def of_reads(self) -> ReadMeter:
        return SilentReadMeter(self)


class SilentReadMeter(ReadMeter):
    def begin(self) -> None:
        pass

    def end(self, is_finished: bool) -> None:
        pass

    def received(self, api_key: i64, version: i64, size_bytes: i64, request: Message | None) -> ApiMeter:
        return self.meters.follower_fetch

    def handled(self, meter: ApiMeter) -> None:
        pass

    def handled_in_turn(self, meter: ApiMeter, received_s: float) -> None:
        pass

    def answered(self, meter: ApiMeter, response: Message) -> None:
        pass

    def leaves(self, meter: ApiMeter) -> None:
        pass

    def now(self) -> float:
        return 1.0

    def left(self, meter: ApiMeter, received_s: float, now: float) -> None:
        pass
