"""What the experiments with depth-limited responses share: the paper."""

from .experiment import Paper

CONTINUAL_RESPONSES = Paper(
    citation='D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in '
    'sequential games", ALA 2024 (arXiv:2112.12594)',
    url="https://arxiv.org/abs/2112.12594",
)
