"""The public record: what others measured and published, as data, and the theory held against it.

``reports`` are rows of public reports, and its names are names of this package. Beside them::

    papers       tables from the literature; batch_tables those against batch, table_forecast both
    vllm_grid    one benchmark over draft length and concurrency; grid_check, grid_forecast and
                 grid_roofline foretell it in three ways
    published_drafters  drafters from papers as points of a map
    engines      what serving engines offer; engine_ladder sorts it by rung
    claims       what is said about speculation, with verdict and evidence
"""

from specmini.record.reports import (
    FieldReport,
    field_reports,
    read_report,
)

__all__ = ["FieldReport", "field_reports", "read_report"]
