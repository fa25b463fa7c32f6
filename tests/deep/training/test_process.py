from multitudes.deep.training import TrainingConfig
from multitudes.deep.training.process import make_accelerator


def test_an_accelerator_of_other_settings_does_not_stand_in_the_way():
    for precision, expected in [("bf16", "bf16"), ("float32", "no"), ("bf16", "bf16")]:
        config = TrainingConfig(precision=precision, device="cpu")
        assert make_accelerator(config).mixed_precision == expected
