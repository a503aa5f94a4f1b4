"""Part `families`: Wan 2.1 with 81 frames, FLUX.2 and Qwen-Image, in bf16, beside times that others published."""

from cases import families
from measure_decodes import measure_cases
from place import Place
from report import Report


def main(report: Report, where: Place) -> None:
    measure_cases(report, where, families(where.rehearse))
