"""Parsing of meter messages: both formats, codes for 'no value', and invalid messages."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattgate.db.models import NetworkState
from wattgate.energy.meters.meter_messages import Measurement, MeterMessage, MeterMessageError, parse_message

MAC = "BCDDC2C6A91C"
ELECTRICITY_TOPIC, GAS_TOPIC, STATE_TOPIC = (
    f"glow/{MAC}/SENSOR/electricitymeter",
    f"glow/{MAC}/SENSOR/gasmeter",
    f"glow/{MAC}/STATE",
)
CLOUD_TOPIC = f"SMART/HILD/{MAC}"
TOPICS = [ELECTRICITY_TOPIC, GAS_TOPIC, STATE_TOPIC, CLOUD_TOPIC]
AT = datetime(2022, 11, 7, 9, 20, 8, tzinfo=UTC)


def electricity(**changes: Any) -> dict[str, Any]:
    """Return a local message about an electricity meter. `changes` replace its members."""
    meter = {
        "timestamp": "2022-11-07T09:20:08Z",
        "energy": {
            "export": {"cumulative": 12.5, "units": "kWh"},
            "import": {
                "cumulative": 15254.827,
                "day": 3.717,
                "week": 3.717,
                "month": 60.439,
                "units": "kWh",
                "mpan": "1234567891000",
                "supplier": "---",
                "price": {"unitrate": 0.16401, "standingcharge": 0.19383},
            },
        },
        "power": {"value": 0.425, "units": "kW"},
    }
    return {"electricitymeter": {**meter, **changes}}


def gas(**changes: Any) -> dict[str, Any]:
    """Return a local message about a gas meter. `changes` replace members of its import."""
    imported = {
        "cumulative": 66589.57,
        "day": 17.326,
        "units": "kWh",
        "cumulativevol": 5995.276,
        "cumulativevolunits": "m3",
        "dayvol": 17.326,
        "dayweekmonthvolunits": "kWh",
        "mprn": "1234567890",
        "supplier": "---",
        "price": {"unitrate": 0.03623, "standingcharge": 0.168},
    }
    return {"gasmeter": {"timestamp": "2022-11-07T09:20:08Z", "energy": {"import": {**imported, **changes}}}}


STATE = {
    "timestamp": "2022-11-07T09:20:08Z",
    "software": "v2.0.2",
    "hardware": "GLOW-IHD-02-1v4-SMETS2",
    "wifistamac": MAC,
    "smetsversion": "SMETS2",
    "eui": "70:B3:D5:21:E0:00:8D:10",
    "zigbee": "1.2.5",
    "han": {"rssi": -88, "status": "joined", "lqi": 48},
}


def cloud(demand: str = "00000643", **changes: Any) -> dict[str, Any]:
    """Return a cloud message. `changes` replace its top-level members."""
    whole = {
        "elecMtr": {
            "0702": {
                "00": {"00": "0000019A0B0D", "01": "000000000020", "14": "02"},
                "03": {"00": "00", "01": "00000001", "02": "000003E8", "07": "1234567891000"},
                "04": {"00": demand, "01": "0044ED", "30": "02488B", "40": "11BF5D"},
            },
            "0708": {"01": {"01": "A supplier"}},
        },
        "gasMtr": {
            "0702": {
                "00": {"00": "00000031FF53", "14": "02"},
                "03": {"00": "01", "01": "00000001", "02": "000003E8", "07": "1234567890"},
                "0C": {"01": "0098A6"},
            }
        },
        "ts": "2022-11-07 09:20:08",
        "hversion": "GLOW-IHD-01-1v4-SMETS2",
        "time": f"{int(AT.timestamp()):08X}",
        "gmtime": int(AT.timestamp()),
        "pan": {"rssi": "B5", "status": "joined", "nPAN": "00", "join": "0", "lqi": "64"},
        "smetsVer": "SMETS2",
        "gid": "70B3D521E0000000",
    }
    return {**whole, **changes}


def parse(topic: str, payload: Any) -> MeterMessage:
    return parse_message(topic, json.dumps(payload).encode())


def values_by_name(message: MeterMessage) -> dict[str, str]:
    return {
        f"{measurement.classifier} {measurement.field} {measurement.unit}": f"{measurement.value.normalize():f}"
        for measurement in message.values
    }


def test_electricity_message_has_power_registers_and_prices_in_pence() -> None:
    message = parse(ELECTRICITY_TOPIC, electricity())
    assert (message.hardware_id, message.at, message.network_state, message.problems) == (MAC, AT, None, ())
    assert values_by_name(message) == {
        "electricity.consumption POWER W": "425",
        "electricity.consumption REGISTER kWh": "15254.827",
        "electricity.consumption RATE pence": "16.401",
        "electricity.consumption STANDING pence": "19.383",
        "electricity.export REGISTER kWh": "12.5",
    }


def test_gas_message_has_its_register_as_energy_and_as_volume() -> None:
    message = parse(GAS_TOPIC, gas())
    assert values_by_name(message) == {
        "gas.consumption REGISTER kWh": "66589.57",
        "gas.consumption RATE pence": "3.623",
        "gas.consumption STANDING pence": "16.8",
        "gas.consumption VOLUME m3": "5995.276",
    }


def test_power_and_export_of_gas_from_old_firmware_are_ignored() -> None:
    payload = gas()
    payload["gasmeter"]["power"] = {"value": 1.5, "units": "kW"}
    payload["gasmeter"]["energy"]["export"] = {"cumulative": 3.0, "units": "kWh"}
    message = parse(GAS_TOPIC, payload)
    assert values_by_name(message) == values_by_name(parse(GAS_TOPIC, gas()))
    assert message.problems == ()


def test_implausible_gas_register_is_rejected_and_the_rest_is_parsed() -> None:
    message = parse(GAS_TOPIC, gas(cumulative=3422879123.0))
    assert "gas.consumption REGISTER kWh" not in values_by_name(message)
    assert "gas.consumption VOLUME m3" in values_by_name(message)
    assert message.problems == ("REGISTER is more than 100,000,000 kWh",)


def test_volume_in_a_wrong_unit_is_rejected() -> None:
    message = parse(GAS_TOPIC, gas(cumulativevolunits="kWh"))
    assert "gas.consumption VOLUME m3" not in values_by_name(message)
    assert message.problems == ("the unit of VOLUME is not one of m3",)


def test_state_message_has_the_network_state() -> None:
    message = parse(STATE_TOPIC, STATE)
    assert message.values == ()
    assert message.network_state == NetworkState(
        at=AT,
        software="v2.0.2",
        hardware="GLOW-IHD-02-1v4-SMETS2",
        smets_version="SMETS2",
        rssi=-88,
        lqi=48,
        status="joined",
    )


def test_cloud_message_is_parsed_from_hexadecimal_attributes() -> None:
    message = parse(CLOUD_TOPIC, cloud())
    assert (message.hardware_id, message.at, message.problems) == (MAC, AT, ())
    assert values_by_name(message) == {
        "electricity.consumption POWER W": "1603",
        "electricity.consumption REGISTER kWh": "26872.589",
        "electricity.export REGISTER kWh": "0.032",
        "gas.consumption VOLUME m3": "3276.627",
    }
    assert message.network_state == NetworkState(
        at=AT, hardware="GLOW-IHD-01-1v4-SMETS2", smets_version="SMETS2", rssi=-75, lqi=100, status="joined"
    )


@pytest.mark.parametrize(
    ("demand", "watts"),
    [
        ("00000000", "0"),
        ("FFFFFFFF", "-1"),
        ("FFFFFC18", "-1000"),
        ("FFFC18", "-1000"),
        ("00FFFC18", "-1000"),
        ("7FFFFF", "8388607"),
    ],
)
def test_demand_is_signed_with_any_number_of_bits(demand: str, watts: str) -> None:
    assert values_by_name(parse(CLOUD_TOPIC, cloud(demand)))["electricity.consumption POWER W"] == watts


@pytest.mark.parametrize("demand", ["800000", "00800000", "FF800000"])
def test_cloud_code_for_no_power_is_no_value(demand: str) -> None:
    message = parse(CLOUD_TOPIC, cloud(demand))
    assert "electricity.consumption POWER W" not in values_by_name(message)
    assert message.problems == ()


@pytest.mark.parametrize(("value", "units"), [(-8388.608, "kW"), (-8388608, "W"), (None, "kW")])
def test_local_code_for_no_power_is_no_value(value: Any, units: str) -> None:
    message = parse(ELECTRICITY_TOPIC, electricity(power={"value": value, "units": units}))
    assert "electricity.consumption POWER W" not in values_by_name(message)
    assert "electricity.consumption REGISTER kWh" in values_by_name(message)
    assert message.problems == ()


@pytest.mark.parametrize(
    ("power", "watts"),
    [
        ({"value": 0, "units": "kW"}, "0"),
        ({"value": -2.375, "units": "kW"}, "-2375"),
        ({"value": 7, "units": "W"}, "7"),
        ({"value": 1}, "1000"),
    ],
)
def test_power_may_be_zero_negative_or_in_another_unit(power: Any, watts: str) -> None:
    assert (
        values_by_name(parse(ELECTRICITY_TOPIC, electricity(power=power)))["electricity.consumption POWER W"] == watts
    )


def test_zero_registers_and_prices_are_ignored() -> None:
    nothing = {"cumulative": 0.0, "units": "kWh"}
    price = {"unitrate": 0.0, "standingcharge": 0}
    message = parse(ELECTRICITY_TOPIC, electricity(energy={"export": nothing, "import": {**nothing, "price": price}}))
    assert values_by_name(message) == {"electricity.consumption POWER W": "425"}
    assert message.problems == ()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_message_may_be_in_any_encoding_of_json(encoding: str) -> None:
    text = json.dumps({"electricitymeter": {"timestamp": "2026-11-20T10:00:00Z", "power": {"value": 0.1}}})
    (power,) = parse_message(ELECTRICITY_TOPIC, text.encode(encoding)).values
    assert power.value == Decimal(100)
    halved = json.dumps({"timestamp": "2026-11-20T10:00:00Z", "unknown": "\ud800", "han": {"rssi": -80}}).encode()
    state = parse_message("glow/70B3D5000001/STATE", halved).network_state
    assert state is not None
    assert state.rssi == -80


def test_pounds_and_kilowatts_are_converted_without_rounding_errors() -> None:
    text = json.dumps(electricity()).replace("0.16401", "0.1640100000000000000001").replace("0.425", "0.4250000001")
    message = parse_message(ELECTRICITY_TOPIC, text.encode())
    assert Measurement("electricity.consumption", "RATE", Decimal("16.40100000000000000001"), "pence") in message.values
    assert Measurement("electricity.consumption", "POWER", Decimal("425.0000001"), "W") in message.values


@pytest.mark.parametrize(
    "payload",
    [
        {"electricitymeter": {"timestamp": "2022-11-07T09:20:08Z"}},
        {"electricitymeter": {"timestamp": "2022-11-07T09:20:08+00:00", "energy": {}, "power": {}}},
        electricity(energy=None, power=None),
    ],
)
def test_sections_may_be_missing_from_a_local_message(payload: Any) -> None:
    message = parse(ELECTRICITY_TOPIC, payload)
    assert (message.at, message.values, message.problems) == (AT, (), ())


@pytest.mark.parametrize("meter", ["elecMtr", "gasMtr", "pan"])
@pytest.mark.parametrize("section", [None, {}, {"0702": {}}, {"0702": {"02": {"00": "01"}}}])
def test_sections_may_be_missing_from_a_cloud_message(meter: str, section: Any) -> None:
    whole, partial = parse(CLOUD_TOPIC, cloud()), parse(CLOUD_TOPIC, cloud(**{meter: section}))
    assert set(partial.values) < set(whole.values) or meter == "pan"
    assert partial.problems == ()
    assert (partial.network_state is None) is (meter == "pan" and section is None)


def test_cloud_register_without_a_scale_is_rejected() -> None:
    payload = cloud()
    del payload["elecMtr"]["0702"]["03"]
    payload["gasMtr"]["0702"]["03"]["02"] = "00000000"
    message = parse(CLOUD_TOPIC, payload)
    assert values_by_name(message) == {"electricity.consumption POWER W": "1603"}
    assert set(message.problems) == {
        "elecMtr has a register without a known unit, a multiplier and a divisor",
        "gasMtr has a register without a known unit, a multiplier and a divisor",
    }


def test_cloud_register_with_all_bits_set_is_no_value() -> None:
    payload = cloud()
    payload["elecMtr"]["0702"]["00"]["00"] = "FFFFFFFFFFFF"
    message = parse(CLOUD_TOPIC, payload)
    assert "electricity.consumption REGISTER kWh" not in values_by_name(message)
    assert message.problems == ()


def test_cloud_gas_register_in_kilowatt_hours_is_energy() -> None:
    payload = cloud()
    payload["gasMtr"]["0702"]["03"]["00"] = "00"
    assert values_by_name(parse(CLOUD_TOPIC, payload))["gas.consumption REGISTER kWh"] == "3276.627"


def test_cloud_time_is_parsed_from_hexadecimal_without_a_number() -> None:
    payload = cloud()
    del payload["gmtime"]
    assert parse(CLOUD_TOPIC, payload).at == AT


@pytest.mark.parametrize("prefix", ["glow/", "home/energy/", ""])
def test_topic_may_have_any_prefix_before_the_hardware_id(prefix: str) -> None:
    assert parse(f"{prefix}{MAC}/SENSOR/electricitymeter", electricity()).hardware_id == MAC
    assert parse(f"{prefix}{MAC}/STATE", STATE).hardware_id == MAC


@pytest.mark.parametrize(
    ("topic", "payload", "reason"),
    [
        ("glow/BCDDC2C6A91C/SENSOR/watermeter", b"{}", "unknown topic: displays do not publish on it"),
        ("glow/BCDDC2C6A91C", b"{}", "unknown topic: displays do not publish on it"),
        ("", b"{}", "unknown topic: displays do not publish on it"),
        ("glow//STATE", b"{}", "the topic has no hardware id"),
        ("glow/\x00/STATE", b"{}", "the topic has no hardware id"),
        (STATE_TOPIC, b"", "the message is not JSON"),
        (STATE_TOPIC, b"\xff\xfe", "the message is not JSON"),
        (STATE_TOPIC, b'{"a": NaN}', "the message is not JSON"),
        (STATE_TOPIC, b'{"a": 1e99999999999999999999}', "the message is not JSON"),
        (STATE_TOPIC, b"[" * 60_000, "the message is not JSON"),
        (STATE_TOPIC, b" " * 70_000, "the message has more than 65,536 bytes"),
        (STATE_TOPIC, b"[]", "the message is not a JSON object"),
        (STATE_TOPIC, b"{}", "the timestamp is not ISO 8601 with a UTC offset"),
        (STATE_TOPIC, b'{"timestamp": "2022-11-07T09:20:08"}', "the timestamp is not ISO 8601 with a UTC offset"),
        (STATE_TOPIC, b'{"timestamp": "0001-01-01T00:00:00+14:00"}', "the timestamp is not ISO 8601 with a UTC offset"),
        (STATE_TOPIC, b'{"timestamp": 1667812808}', "the timestamp is not ISO 8601 with a UTC offset"),
        (ELECTRICITY_TOPIC, b"{}", "electricitymeter is missing"),
        (GAS_TOPIC, b'{"gasmeter": 5}', "gasmeter is not an object"),
        (CLOUD_TOPIC, b"{}", "neither gmtime nor time is a number of seconds since 1970"),
        (CLOUD_TOPIC, b'{"gmtime": -1}', "neither gmtime nor time is a number of seconds since 1970"),
        (CLOUD_TOPIC, b'{"time": "6245C12G"}', "time is not a hexadecimal number"),
    ],
)
def test_invalid_message_is_rejected_with_the_reason(topic: str, payload: bytes, reason: str) -> None:
    with pytest.raises(MeterMessageError) as error:
        parse_message(topic, payload)
    assert str(error.value) == reason


@pytest.mark.parametrize(
    ("power", "reason"),
    [
        ({"value": "0.425", "units": "kW"}, "power.value is not a number"),
        ({"value": True, "units": "kW"}, "power.value is not a number"),
        ({"value": [], "units": "kW"}, "power.value is not a number"),
        ({"value": 1, "units": ["kW"]}, "the unit of POWER is not one of kW, W"),
        ({"value": 1, "units": "BTU"}, "the unit of POWER is not one of kW, W"),
        ({"value": 8389, "units": "kW"}, "POWER is more than 8,388,608 W"),
        ({"value": 10**400, "units": "kW"}, "POWER is more than 8,388,608 W"),
        (17, "power is not an object"),
    ],
)
def test_invalid_part_does_not_affect_the_others(power: Any, reason: str) -> None:
    message = parse(ELECTRICITY_TOPIC, electricity(power=power))
    assert message.problems == (reason,)
    assert "electricity.consumption REGISTER kWh" in values_by_name(message)


def test_invalid_parts_of_the_network_state_are_dropped() -> None:
    han = {"rssi": 2**40, "status": "joi\u0000ned", "lqi": "48"}
    message = parse(STATE_TOPIC, {**STATE, "han": han, "hardware": "x" * 65, "software": None})
    assert message.network_state == NetworkState(at=AT, smets_version="SMETS2")
    assert len(message.problems) == 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def assert_parsed_or_rejected(topic: str, payload: bytes) -> None:
    try:
        message = parse_message(topic, payload)
    except MeterMessageError:
        return
    assert all(value.value.is_finite() for value in message.values)
    assert message.at.tzinfo is UTC


@given(st.sampled_from(TOPICS) | st.text(), st.binary())
def test_any_payload_is_parsed_or_rejected(topic: str, payload: bytes) -> None:
    assert_parsed_or_rejected(topic, payload)


@given(st.sampled_from(TOPICS), st.data())
def test_any_value_at_any_path_is_parsed_or_rejected(topic: str, data: Any) -> None:
    payload = {
        ELECTRICITY_TOPIC: electricity(),
        GAS_TOPIC: gas(),
        STATE_TOPIC: json.loads(json.dumps(STATE)),
        CLOUD_TOPIC: cloud(),
    }[topic]
    part: Any = payload
    while True:
        name = data.draw(st.sampled_from(sorted(part)))
        if not isinstance(part[name], dict) or data.draw(st.booleans()):
            break
        part = part[name]
    part[name] = data.draw(JSON)
    assert_parsed_or_rejected(topic, json.dumps(payload).encode())


@given(
    st.sampled_from(["value", "cumulative", "unitrate"]),
    st.from_regex(r"-?[0-9]{1,30}(\.[0-9]{1,30})?([eE]-?[0-9]{1,9})?"),
)
def test_any_number_is_parsed_or_rejected(name: str, number: str) -> None:
    text = json.dumps(electricity())
    assert_parsed_or_rejected(
        ELECTRICITY_TOPIC, text.replace(f'"{name}": ', f'"{name}": {number}, "old": ', 1).encode()
    )
