"""What an update of `er` minimises: one file for each objective."""

from scale.methods.objectives import barlow as barlow
from scale.methods.objectives import byol as byol
from scale.methods.objectives import lejepa as lejepa
from scale.methods.objectives import moco as moco
from scale.methods.objectives import ntxent as ntxent
from scale.methods.objectives import simsiam as simsiam
from scale.methods.objectives import vicreg as vicreg
from scale.methods.objectives.objective import OBJECTIVES, Objective

__all__ = ["OBJECTIVES", "Objective"]
