"""The unrolled head is the decoder's own, and the loss is its formula."""


import torch
import torch.nn.functional as F

from core.model.head import Drafter
from core.model.target import Target
from core.train.objective import SoftCrossEntropy, chain_lengths, head_loss, unroll
from core.train.training import fresh_head


def test_unrolled_rows_are_what_the_drafter_computes(model, head, text):
    """From every start: observe the true features, then probe the row's own tokens one beam row at a time."""
    ids, features = text
    steps = 4
    outputs = unroll(head, model.model.embed_tokens(ids[:, 1:]), features[:, :-1], steps, torch.float32)
    for row in range(2):
        for start in range(1, ids.shape[1] - steps):  # the last true row of the draft
            drafter = Drafter(head, Target(model), 64)
            out, _ = drafter.observe(ids[row, 1 : start + 2], features[row, : start + 1])
            assert torch.allclose(out[0], outputs[0][row, start], atol=1e-5)
            for step in range(1, steps):
                out, _ = drafter.probe(ids[row, start + step + 1][None], out, torch.ones(1, step, dtype=torch.bool), step)
                assert torch.allclose(out[0], outputs[step][row, start + step], atol=1e-5)


def test_first_step_is_the_module(model, head, text):
    ids, features = text
    rows = ids.shape[1] - 1
    mask = torch.ones(1, 1, rows, rows, dtype=torch.bool).tril()
    whole = head(ids[:, 1:], features[:, :-1], torch.arange(rows)[None], mask)
    (output,) = unroll(head, model.model.embed_tokens(ids[:, 1:]), features[:, :-1], 1, torch.float32)
    assert torch.allclose(output, whole, atol=1e-5)


def test_cross_entropy_and_its_gradient():
    torch.manual_seed(0)
    x = torch.randn(150, 8, requires_grad=True)  # more than one chunk
    weight, teacher = torch.randn(50, 8), torch.softmax(torch.randn(150, 50), -1)
    log_q = torch.log_softmax(x @ weight.T, -1)
    naive = -(teacher * log_q).sum()
    (expected,) = torch.autograd.grad(naive, x)
    loss, agreement = SoftCrossEntropy.apply(x, teacher, teacher.argmax(-1), weight, True)
    (got,) = torch.autograd.grad(3 * loss, x)
    assert torch.allclose(loss, naive, rtol=1e-5) and torch.allclose(got, 3 * expected, atol=1e-4)
    assert agreement == (log_q.argmax(-1) == teacher.argmax(-1)).sum()


def test_loss_is_its_formula(model, head, text):
    ids, features = text
    scored = torch.rand(ids.shape, generator=torch.Generator().manual_seed(0)) < 0.6
    some = torch.tensor([5, 0, 17, 200, 31])
    lm_head, embedding, decay, weight = model.lm_head.weight[some], model.model.embed_tokens.weight, 0.5, 0.7
    loss, count, agreements = head_loss(head, embedding, lm_head, ids, features, scored, steps=2, feature_weight=weight,
                                        decay=decay, dtype=torch.float32)
    outputs = unroll(head, embedding[ids[:, 1:]], features[:, :-1], 2, torch.float32)
    total, seen, agreed = 0.0, 0, 0
    for b in range(len(ids)):
        for r in range(1, ids.shape[1] - 1):  # two steps: row 0 has no past of its own
            if not scored[b, min(r + 2, ids.shape[1] - 1)]:
                continue
            seen += 1
            p = torch.softmax(lm_head @ features[b, r + 1], 0)
            agreed += int(p.argmax() == (lm_head @ outputs[0][b, r]).argmax())
            for step in range(2):
                out = outputs[step][b, r]
                entropy = -(p * torch.log_softmax(lm_head @ out, 0)).sum()
                total += decay**step * (entropy + weight * F.smooth_l1_loss(out, features[b, r + 1]))
    assert count == seen and agreements[0] == agreed
    assert torch.allclose(loss, total / (1 + decay), rtol=1e-4)


def test_no_scored_position_is_no_gradient_and_no_error(model, head, text):
    ids, features = text
    head = fresh_head(Target(model))
    loss, count, _ = head_loss(head, model.model.embed_tokens.weight, model.lm_head.weight, ids, features,
                               torch.zeros(ids.shape, dtype=torch.bool), steps=2, feature_weight=1.0, decay=0.8,
                               dtype=torch.float32)
    assert count == 0 and all(float(g.abs().sum()) == 0 for g in torch.autograd.grad(loss, list(head.parameters())))


def test_chain_length_is_that_of_a_real_draft(model, head, text):
    """Against the drafter at work: greedy, feeding itself, until it misses the text."""
    ids, features = text
    ids = ids % 2  # a tiny vocabulary, so that some guesses are right
    features = model.model(ids).last_hidden_state
    some, steps = torch.arange(2), 3
    got = chain_lengths(head, model.model.embed_tokens.weight, model.lm_head.weight[some], some, ids, features,
                        torch.ones(ids.shape, dtype=torch.bool), steps, torch.float32)
    expected = []
    for row in range(len(ids)):
        for start in range(ids.shape[1] - 1 - steps):
            drafter = Drafter(head, Target(model), 64)
            out, logits = drafter.observe(ids[row, 1 : start + 2], features[row, : start + 1])
            right = 0
            while right < steps and logits[0, :2].argmax() == ids[row, start + 2 + right]:
                right += 1
                if right < steps:
                    token, mask = ids[row, start + 1 + right][None], torch.ones(1, right, dtype=torch.bool)
                    out, logits = drafter.probe(token, out, mask, right)
            expected.append(right)
    assert got.tolist() == expected and max(expected) == steps and min(expected) == 0
