"""Every function that can be called with simple arguments adds TensorFlow's nodes: names, ops, inputs, attributes and values of constants."""

import pytest

import flowmill
from any_arguments import MODULES, calls, functions
from spellings import difference, outcome

# Ways of calling one function that are compared; the first ones that TensorFlow takes.
MOST = 2

_SIGNAL = "the same values by fewer nodes"
_CHECKED = "a shape that no kernel takes is refused when the graph is built"
# Function: why the nodes are others.
KNOWN = {
    "batch_gather": "one GatherV2 with batch_dims", "parallel_stack": "a Pack, which needs no shapes", "unique_with_counts": _CHECKED, "train.batch": _CHECKED,
    "bincount": "numbers that are no integers are refused", "sparse.bincount": "numbers that are no integers are refused",
    "report_uninitialized_variables": "without variables the strings are those of an empty list", "linalg.expm": _SIGNAL,
    "nn.compute_average_loss": "one division", "nn.all_candidate_sampler": "no such op", "nn.fixed_unigram_candidate_sampler": "no such op",
    "nn.learned_unigram_candidate_sampler": "no such op", "strings.bytes_split": "ragged tensors of fewer checks",
    "train.cosine_decay_restarts": _SIGNAL, "train.linear_cosine_decay": _SIGNAL, "train.noisy_linear_cosine_decay": _SIGNAL,
    "layers.dense": "sparse inputs are refused",
} | {f"signal.{name}": _SIGNAL for name in (
    "dct", "frame", "idct", "inverse_stft", "kaiser_bessel_derived_window", "kaiser_window", "linear_to_mel_weight_matrix",
    "mfccs_from_log_mel_spectrograms", "overlap_and_add", "stft", "vorbis_window")}


def _sorted(found):
    return found if isinstance(found, Exception) else sorted(found)


@pytest.mark.parametrize("module", MODULES)
def test_nodes(tf1, module):
    found, called = {}, 0
    for home, name in functions(tf1, flowmill):
        full = f"{home}.{name}" if home else name
        if home != module or full in KNOWN:
            continue
        taken = 0
        for call in calls(tf1, home, name):
            theirs = outcome(tf1, call, lambda tf: None)
            if isinstance(theirs, Exception):
                continue
            # Conditionals bring inputs in before what takes them.
            different = difference(_sorted(theirs), _sorted(outcome(flowmill, call, lambda tf: None)))
            if different:
                found[full] = different
            taken += 1
            if taken == MOST:
                break
        called += bool(taken)
    assert not found
    assert called
