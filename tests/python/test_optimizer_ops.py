"""The update rules AdagradDA, AddSign and PowerSign, against TensorFlow."""

import numpy as np
import pytest


@pytest.fixture
def dice():
    return np.random.RandomState(4)


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("op", ["AdagradDA", "SparseAdagradDA", "AddSign", "PowerSign"])
def test_rules_of_averages_and_signs(tf1, dice, op, resource):
    import flowmill
    slots = [dice.randn(4, 3).astype(np.float32) for _ in range(3 if "DA" in op else 2)]
    slots = slots[:2] + [np.abs(s) for s in slots[2:]]
    gradient = dice.randn(4, 3).astype(np.float32)
    gradient[0, 0] = 0
    results = []
    for m in (tf1, flowmill):
        with m.Graph().as_default(), m.Session() as session:
            variables = [m.get_variable(f"v{i}", initializer=m.constant(v), use_resource=resource) for i, v in enumerate(slots)]
            refs = [v.handle if resource else v._ref() if hasattr(v, "_ref") else v for v in variables]
            f = m.constant
            if "DA" in op:
                named = dict(zip(["var", "gradient_accumulator", "gradient_squared_accumulator"], refs))
                rest = {"lr": f(0.1), "l1": f(0.2), "l2": f(0.3), "global_step": f(7, m.int64), "grad": f(gradient)}
                if op == "SparseAdagradDA":
                    rest.update(grad=f(gradient[:2]), indices=f([2, 0]))
            else:
                named = dict(zip(["var", "m"], refs))
                rest = {"lr": f(0.1), "alpha" if op == "AddSign" else "logbase": f(1.3), "sign_decay": f(0.9), "beta": f(0.8), "grad": f(gradient)}
            name = ("Resource" if resource else "") + ("SparseApplyAdagradDA" if op == "SparseAdagradDA" else f"Apply{op}")
            step = getattr(m.raw_ops, name)(**named, **rest)
            session.run(m.global_variables_initializer())
            session.run(step)
            results.append(session.run([v.value() for v in variables]))
    for want, got in zip(*results):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
