"""What a pass runs on and how much it is asked to do: settings that several widgets share."""

from __future__ import annotations

from typing import Any

import traitlets

from specmini import catalog
from specmini.roofline.deployment import Deployment
from specmini.roofline.machine import Machine
from specmini.widgets.assemble import BYTES_PER_VALUE
from specmini.widgets.page import PageWidget
from specmini.widgets.settings import BITS, DEVICES, Choice, Number, SettingError

# Without a peak there is no roof. The page lists the others too, and says why they are no choice.
MACHINES = [key for key, machine in catalog.machines().items() if machine.peak_flops is not None]


class LoadWidget(PageWidget):
    """A widget whose passes run a model of the catalog on a machine of the catalog.

    Attributes:
        machine: a key of ``specmini.catalog.machines()`` whose 16-bit peak is documented.
        model: a key of ``specmini.catalog.models()``, the target.
        weight_bits: bits of a stored weight, 16, 8 or 4.
        devices: machines that share every matrix, 1, 2, 4 or 8.
        batch: sequences decoded together, a whole number from 1 to 512.
        context: tokens in each sequence's cache, 0 to 131072.

    Raises:
        ValueError: a setting is not in its range, or the machine and the model do not allow it
            (also a ``traitlets.TraitError``).
    """

    machine = Choice(MACHINES, "h100")
    model = Choice(catalog.models(), "llama-3.1-8b")
    weight_bits = Choice(BITS, 16)
    devices = Choice(DEVICES, 1)
    batch = Number("batch", 1)
    context = Number("context", 1024)

    @traitlets.validate("machine", "model", "devices")
    def _possible(self, proposal: Any) -> Any:
        self.require_possible(**{proposal["trait"].name: proposal["value"]})
        return proposal["value"]

    def require_possible(self, **changes: Any) -> None:
        """Raise a ``SettingError`` if the settings, some of them changed, exclude each other."""
        now = {name: getattr(self, name) for name in self.trait_names(page=True)} | changes
        machine, model = catalog.machine(now["machine"]), catalog.model(now["model"])
        bits, devices = now.get("arithmetic_bits", 16), now["devices"]
        if peak_of(machine, bits) is None:
            raise SettingError(
                f"arithmetic_bits must be 16 on {machine.name}, of which no {bits}-bit peak is "
                f"documented, got {bits}"
            )
        if devices > 1 and machine.interconnect is None:
            raise SettingError(
                f"devices must be 1 on {machine.name}, whose interconnect is not documented, "
                f"got {devices}"
            )
        if model.heads % devices:
            raise SettingError(
                f"devices must divide the {model.heads} heads of {model.name}, got {devices}"
            )

    @property
    def deployment(self) -> Deployment:
        """The model on the machine, as it is set."""
        return Deployment(
            catalog.machine(self.machine),
            catalog.model(self.model),
            bytes_per_weight=self.weight_bits / 8,
            bytes_per_cache_value=BYTES_PER_VALUE,
            devices=self.devices,
        )


def peak_of(machine: Machine, bits: int) -> float | None:
    """Return the machine's peak for an arithmetic, None if it is not documented."""
    try:
        return machine.peak(bits)
    except ValueError:
        return None
