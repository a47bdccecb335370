"""Private inequality indices (mean log deviation, Theil, GE(2)) through the common release interface.

`InequalityMechanism` is for `pgsr.release`; `Domain` and `INDICES` are the mathematics behind it, plain
indices are in `pgsr.inequality.indices`. Sensitivities of data (`INDICES[...].local`, `ladder`, `smooth`, and
names with "confidential") are for the data's custodian alone. Light to import.
"""

from pgsr.inequality.domain import Domain
from pgsr.inequality.estimate import IndexEstimate
from pgsr.inequality.incomes import Incomes
from pgsr.inequality.index import INDICES, Index
from pgsr.inequality.mechanism import InequalityMechanism
from pgsr.inequality.query import IndexQuery
from pgsr.inequality.sensitivity import Sensitivity, confidential_sensitivity
from pgsr.inequality.smooth import Accuracy, Smooth
from pgsr.inequality.upper import PrivateUpper, UpperGrid

__all__ = [
    "INDICES",
    "Accuracy",
    "Domain",
    "Incomes",
    "Index",
    "IndexEstimate",
    "IndexQuery",
    "InequalityMechanism",
    "PrivateUpper",
    "Sensitivity",
    "Smooth",
    "UpperGrid",
    "confidential_sensitivity",
]
