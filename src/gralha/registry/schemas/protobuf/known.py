"""Files that every schema may import: those of Google and of Confluent."""

from functools import cache

from google.protobuf import (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)

from gralha.registry.schemas.protobuf.from_descriptor import file_of
from gralha.registry.schemas.protobuf.model import ProtoFile
from gralha.registry.schemas.protobuf.names import Names
from gralha.registry.schemas.protobuf.parser import parse_proto

_WELL_KNOWN = (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)

_META = """
syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
  repeated Rule rules = 4;
}
message Rule { string name = 1; string doc = 2; string expr = 3; string sql = 4; }
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
"""

_FRACTION_OF_DAY = "int32 hours = {}; int32 minutes = {}; int32 seconds = {}; int32 nanos = {};"
_DAYS = "MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY"
_MONTHS = "JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER"
_PERIODS = "DAY WEEK FORTNIGHT MONTH QUARTER HALF YEAR"


def _enum(name: str, zero: str, values: str) -> str:
    constants = [f"{value} = {number};" for number, value in enumerate(values.split(), 1)]
    return f"enum {name} {{ {zero} = 0; {' '.join(constants)} }}"


# The declarations of the files in confluent/type and google/type, without their options.
_TYPES = {
    "confluent/type/decimal.proto": "message Decimal { bytes value = 1; uint32 precision = 2; "
    "int32 scale = 3; }",
    "confluent/type/variant.proto": "message Variant { bytes metadata = 1; bytes value = 2; }",
    "google/type/calendar_period.proto": _enum("CalendarPeriod", "CALENDAR_PERIOD_UNSPECIFIED", _PERIODS),
    "google/type/color.proto": "message Color { float red = 1; float green = 2; float blue = 3; "
    "google.protobuf.FloatValue alpha = 4; }",
    "google/type/date.proto": "message Date { int32 year = 1; int32 month = 2; int32 day = 3; }",
    "google/type/datetime.proto": "message DateTime { int32 year = 1; int32 month = 2; int32 day = 3; "
    + _FRACTION_OF_DAY.format(4, 5, 6, 7)
    + " oneof time_offset { google.protobuf.Duration utc_offset = 8; TimeZone time_zone = 9; } } "
    "message TimeZone { string id = 1; string version = 2; }",
    "google/type/dayofweek.proto": _enum("DayOfWeek", "DAY_OF_WEEK_UNSPECIFIED", _DAYS),
    "google/type/decimal.proto": "message Decimal { string value = 1; }",
    "google/type/expr.proto": "message Expr { string expression = 1; string title = 2; "
    "string description = 3; string location = 4; }",
    "google/type/fraction.proto": "message Fraction { int64 numerator = 1; int64 denominator = 2; }",
    "google/type/interval.proto": "message Interval { google.protobuf.Timestamp start_time = 1; "
    "google.protobuf.Timestamp end_time = 2; }",
    "google/type/latlng.proto": "message LatLng { double latitude = 1; double longitude = 2; }",
    "google/type/money.proto": "message Money { string currency_code = 1; int64 units = 2; "
    "int32 nanos = 3; }",
    "google/type/month.proto": _enum("Month", "MONTH_UNSPECIFIED", _MONTHS),
    "google/type/phone_number.proto": "message PhoneNumber { message ShortCode { string region_code = 1; "
    "string number = 2; } oneof kind { string e164_number = 1; ShortCode short_code = 2; } "
    "string extension = 3; }",
    "google/type/postal_address.proto": "message PostalAddress { int32 revision = 1; string region_code = 2; "
    "string language_code = 3; string postal_code = 4; string sorting_code = 5; "
    "string administrative_area = 6; string locality = 7; string sublocality = 8; "
    "repeated string address_lines = 9; repeated string recipients = 10; string organization = 11; }",
    "google/type/quaternion.proto": "message Quaternion { double x = 1; double y = 2; double z = 3; "
    "double w = 4; }",
    "google/type/timeofday.proto": f"message TimeOfDay {{ {_FRACTION_OF_DAY.format(1, 2, 3, 4)} }}",
}


@cache
def known_files() -> dict[str, ProtoFile]:
    """The files by the names under which they are imported."""
    files: dict[str, ProtoFile] = {}
    for module in _WELL_KNOWN:
        descriptor = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(descriptor)
        files[descriptor.name] = file_of(descriptor)
    files["confluent/meta.proto"] = parse_proto(_META)
    for name, declarations in _TYPES.items():
        package = name.rpartition("/")[0].replace("/", ".")
        files[name] = parse_proto(f'syntax = "proto3"; package {package}; {declarations}')
    return files


@cache
def known_names() -> Names:
    """The types of all these files."""
    names = Names("")
    for name, file in known_files().items():
        names.add(file, name)
    return names
