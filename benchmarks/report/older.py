"""Records that lack something, and why they are kept: what a test refuses in any other record.

Most were stored before records had commands, questions and checksums, many at a commit with
changes, which ``+`` in their `commits` tells. A name is taken off this list when its benchmark has
been run again; no new one joins it.
"""

from __future__ import annotations

TO_RUN_AGAIN = "on a CPU: to be run again"
ENCODER = "needs an encoder that was trained on an accelerator"
ACCELERATOR = "needs an accelerator to be run again"

OLDER: dict[str, str] = {
    **dict.fromkeys(
        (
            "server_abuse", "serving", "serving-slow-clients", "serving-soak",
        ),
        TO_RUN_AGAIN,
    ),
    **dict.fromkeys(
        ("fusion-llms4subjects-gnd", "prime-lf-msdocs-links-features"),
        ENCODER,
    ),
    **dict.fromkeys(
        (
            "kernels", "packed_encoders", "prime-debian-deps", "prime-host-labels",
            "prime-lf-msdocs-links", "prime-lf-msdocs-links-64", "prime-lf-msdocs-links-ablations",
            "prime-lf-msdocs-links-best", "prime-lf-msdocs-links-options",
            "prime-lf-msdocs-links-propensity", "prime-lf-msdocs-links-source-dropout",
            "prime-lf-msdocs-links-speed", "prime-lf-msdocs-links-unseen",
            "prime-lf-msdocs-links-validation", "prime-lf-msdocs-links-validation-source-dropout",
            "prime-lf-msdocs-links-w", "prime-lf-msdocs-links-without-free",
            "prime-lf-msdocs-seealso", "prime-step", "seq2set-batch-size",
            "seq2set-debian-debtags", "seq2set-debian-debtags-speed", "seq2set-eurlex-titles",
            "seq2set-eurlex-titles-speed", "seq2set-eurlex-titles-speed-64", "seq2set-large",
            "seq2set-llms4subjects-gnd", "seq2set-llms4subjects-gnd-speed",
        ),
        ACCELERATOR,
    ),
}  # fmt: skip
