"""Private small area estimation (Fay-Herriot) through the common release interface.

`Posterior` is the mathematics: what known variances and a design make of direct estimates. `AreaGuarantees`
says what releasing it costs, the mechanisms are for `pgsr.release`. Names with "confidential"
(`pgsr.sae.fayherriot`, `direct`, `variances`, `replicates`, `smoothing`) are for the data's custodian alone.
Light to import.
"""

from pgsr.sae.conditional import conditional_release
from pgsr.sae.conversions import PrivacyLoss
from pgsr.sae.draws import PosteriorMechanism
from pgsr.sae.fayherriot import ConfidentialFit, confidential_fit
from pgsr.sae.frame import AreaEstimates, AreaFrame
from pgsr.sae.guarantees import AreaGuarantees
from pgsr.sae.microdata import Microdata
from pgsr.sae.new_areas import NewAreas
from pgsr.sae.noisydirect import NoisyDirectMechanism
from pgsr.sae.posterior import Posterior
from pgsr.sae.threestage import ThreeStageMechanism

__all__ = [
    "AreaEstimates",
    "AreaFrame",
    "AreaGuarantees",
    "ConfidentialFit",
    "Microdata",
    "NewAreas",
    "NoisyDirectMechanism",
    "Posterior",
    "PosteriorMechanism",
    "PrivacyLoss",
    "ThreeStageMechanism",
    "conditional_release",
    "confidential_fit",
]
