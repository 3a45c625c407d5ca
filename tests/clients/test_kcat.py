"""The contract, as kcat sees it."""

from tests.clients.contract import contract_of
from tests.clients.drivers.kcat_driver import KcatDriver

test_scenario = contract_of(KcatDriver)
