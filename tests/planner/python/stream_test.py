"""Streams: clips in blocks equal the whole clip, many streams share weights under one limit, and misuse is refused."""

from __future__ import annotations

import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import unittest

import headroom_vae
import tiny
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "reference"))
from seedvr2 import SeedVR2  # noqa: E402
from tiny_decoders import TAEHV  # noqa: E402

MIB = 1 << 20


def frames_of(stream, latents, blocks):
    """The frames of a stream of these latents in blocks of so many latent frames."""
    parts, begin = [], 0
    for frames in blocks:
        parts.append(stream.push(latents[:, :, begin : begin + frames]))
        begin += frames
    return [*parts, stream.finish()]


def drawn_blocks(frames, draw):
    blocks = []
    while sum(blocks) < frames:
        blocks.append(min(frames - sum(blocks), draw.randint(1, 4)))
    return blocks


class StreamCases:
    """Tests of streams on any device."""

    EXECUTOR = "native"
    SESSIONS = 5
    RESERVES = True
    """The device reserves at least 10 MiB, more than tiny streams need."""

    def placed(self, vae):
        """The VAE on the device of the streams."""
        return vae

    def stream(self, vae, *size, **options):
        return headroom_vae.stream(self.placed(vae), *size, executor=self.EXECUTOR, **options)

    def predict(self, vae, *size, **options):
        return headroom_vae.predict(self.placed(vae), *size, stream=True, executor=self.EXECUTOR, **options)

    def check(self, vae, latents, causal=True):
        whole = vae.decode(latents).sample
        height, width = whole.shape[-2:]
        for seed in range(3):
            draw = random.Random(seed)
            with self.stream(vae, height, width, block=draw.randint(1, 3), batch=latents.shape[0]) as stream:
                parts = frames_of(stream, latents, drawn_blocks(latents.shape[2], draw))
            self.assertEqual(stream.delay_frames == 0, causal)
            self.assertEqual(parts[-1].shape[2], stream.delay_frames)
            self.assert_close(torch.cat(parts, 2), whole, 1e-5)
            self.assertEqual(parts[0].dtype, vae.dtype)

    def test_a_clip_in_blocks_is_that_of_the_vaes_own_decode(self):
        for vae in (tiny.wan(), tiny.wan22(), tiny.qwen()):
            self.check(vae, tiny.latent(2, vae.config.z_dim, 6, 3, 4))

    def test_a_decoder_that_reads_frames_ahead_gives_them_later(self):
        vae = tiny.ltx2_video()
        self.check(vae, tiny.latent(1, vae.config.latent_channels, 12, 3, 4), causal=False)

    def test_an_encode_in_blocks_is_that_of_the_vaes_own_encode(self):
        vae, clip = tiny.wan(), tiny.latent(1, 3, 13, 24, 32)
        with self.stream(vae, 24, 32, block=2, direction="encode") as stream:
            parts = [stream.push(clip[:, :, begin : begin + 3]) for begin in range(0, 13, 3)]
            parts.append(stream.finish())
        self.assert_close(torch.cat(parts, 2), vae.encode(clip).latent_dist.parameters, 1e-5)
        with self.stream(vae, 24, 32, direction="encode") as stream:
            stream.push(clip[:, :, :3])
            with self.assertRaisesRegex(headroom_vae.InputError, "the clip ends after 3 frames, within a latent frame; expected 1, or 5"):
                stream.finish()
            stream.push(clip[:, :, 3:5])
            self.assertEqual(stream.finish().shape[2], 0)

    def test_a_tight_limit_holds_and_a_smaller_one_is_refused(self):
        vae, latents = tiny.wan(), tiny.latent(1, 16, 5, 12, 16)
        ample = self.predict(vae, 96, 128, block=2)
        with self.assertRaises(headroom_vae.DoesNotFit) as refused:
            self.stream(vae, 96, 128, limit=ample.weights_bytes, block=2)
        smallest = refused.exception.smallest_limit_bytes
        self.assertLessEqual(smallest, ample.peak_bytes)
        if not self.RESERVES:
            self.assertLess(smallest, ample.peak_bytes)
        whole = vae.decode(latents).sample
        with self.stream(vae, 96, 128, limit=smallest, block=2) as stream:
            self.assert_close(torch.cat(frames_of(stream, latents, [2, 1, 2]), 2), whole, 1e-5)
            self.assertLessEqual(stream.measured_peak_bytes, smallest)
        self.assertFalse(self.predict(vae, 96, 128, limit=ample.weights_bytes, block=2).fits)

    def test_many_streams_share_weights_and_one_more_is_refused(self):
        vae, sessions = tiny.wan(), self.SESSIONS
        # a limit that holds so many but not one more
        limit = self.predict(vae, 24, 32, sessions=sessions).peak_bytes
        latents = [tiny.latent(1, 16, 4, 3, 4, seed=seed) for seed in range(sessions)]
        streams = [self.stream(vae, 24, 32, limit=limit, sessions=sessions) for _ in latents]
        with self.assertRaisesRegex(headroom_vae.LimitExceeded, f"expected at most {sessions} streams"):
            self.stream(vae, 24, 32, limit=limit, sessions=sessions)
        turns = [number for number in range(sessions) for _ in range(5)]
        random.Random(5).shuffle(turns)
        parts = [[] for _ in latents]
        for number in turns:
            taken = len(parts[number])
            parts[number].append(streams[number].finish() if taken == 4 else streams[number].push(latents[number][:, :, taken : taken + 1]))
        for made, given in zip(parts, latents):
            self.assert_close(torch.cat(made, 2), vae.decode(given).sample, 1e-5)
        streams.pop().close()
        self.stream(vae, 24, 32, limit=limit, sessions=sessions).close()

    def test_a_suspended_stream_leaves_room_and_goes_on(self):
        vae, latents = tiny.wan(), tiny.latent(1, 16, 3, 3, 4)
        limit = self.predict(vae, 24, 32).peak_bytes
        first = self.stream(vae, 24, 32, limit=limit)
        parts = [first.push(latents[:, :, :2])]
        with self.assertRaises(headroom_vae.LimitExceeded):
            self.stream(vae, 24, 32, limit=limit)
        first.suspend()
        with self.stream(vae, 24, 32, limit=limit) as second:
            second.push(latents)
            with self.assertRaisesRegex(headroom_vae.HeadroomError, "suspended"):
                first.push(latents[:, :, 2:])
            with self.assertRaises(headroom_vae.LimitExceeded):
                first.resume()
        first.resume()
        parts += [first.push(latents[:, :, 2:]), first.finish()]
        self.assert_close(torch.cat(parts, 2), vae.decode(latents).sample, 1e-5)


class StreamsByTorch(StreamCases, tiny.Case):
    EXECUTOR = "torch"

    def test_a_state_is_of_one_kind_of_device(self):
        vae = tiny.wan()
        stream = self.stream(vae, 24, 32)
        stream.push(tiny.latent(1, 16, 2, 3, 4))
        self.assertEqual(self.stream(vae, state=stream.state()).push(tiny.latent(1, 16, 1, 3, 4)).shape[2], 4)
        with self.assertRaisesRegex(headroom_vae.InputError, "state: is of a stream on torch; the streams of this VAE run on cpu"):
            headroom_vae.stream(vae, state=stream.state())


class Streams(StreamCases, tiny.Case):
    SESSIONS = 50
    RESERVES = False

    def test_state_and_peak_are_known_before_and_hold(self):
        vae, latents = tiny.wan(), tiny.latent(1, 16, 7, 6, 8)
        for block in (1, 3):
            predicted = headroom_vae.predict(vae, 48, 64, limit="64MiB", stream=True, block=block)
            with headroom_vae.stream(vae, 48, 64, limit="64MiB", block=block) as stream:
                self.assertEqual((stream.state_bytes, stream.peak_bytes), (predicted.state_bytes, predicted.peak_bytes))
                frames_of(stream, latents[:, :, :6], [3, 3])
                self.assertLessEqual(stream.measured_peak_bytes, stream.peak_bytes)
                self.assertGreater(stream.measured_peak_bytes, stream.peak_bytes - 2 * MIB)
            self.assertGreater(predicted.state_bytes, 0)

    def test_classes_that_are_not_diffusers_are_proven_first(self):
        taehv = {"latent_channels": 4, "out_channels": 3, "patch_size": 2, "decoder_block_out_channels": [8, 6, 6, 4], "num_decoder_blocks": [3, 3, 3],
                 "decoder_time_upscale": [False, True, True], "decoder_space_upscale": [True] * 3}  # fmt: skip
        seedvr2 = {"latent_channels": 4, "out_channels": 3, "block_out_channels": (32, 32, 64), "layers_per_block": 1, "act_fn": "silu",
                   "norm_num_groups": 32, "temporal_scale_num": 1, "use_post_quant_conv": True, "attention": True}  # fmt: skip
        for made, pixels in ((TAEHV, 16), (SeedVR2, 4)):
            vae = tiny.seeded(made, taehv if made is TAEHV else seedvr2)
            latents = tiny.latent(1, 4, 6, 3, 4)
            whole = vae.decode(latents)
            with headroom_vae.stream(vae, 3 * pixels, 4 * pixels, block=2) as stream:
                parts = frames_of(stream, latents, [2, 1, 3])
            self.assert_close(torch.cat(parts, 2), whole, 1e-5)
        with self.assertRaisesRegex(headroom_vae.Unsupported, "encodes of diffusers' classes alone"):
            headroom_vae.stream(vae, 3 * pixels, 4 * pixels, direction="encode")

    def test_what_cannot_be_streamed_says_why(self):
        for vae, why in (
            (tiny.hunyuan_video(), "takes the mean and deviation of the whole clip"),
            (tiny.hunyuan_video_15(), "attends to all earlier frames"),
            (tiny.kl(), "single pictures"),
        ):
            with self.assertRaisesRegex(headroom_vae.Unsupported, why):
                headroom_vae.stream(vae, 32, 32)
            with self.assertRaisesRegex(headroom_vae.Unsupported, why):
                headroom_vae.predict(vae, 32, 32, stream=True)

    def test_misuse_is_refused_and_the_stream_goes_on(self):
        vae, latents = tiny.wan(), tiny.latent(1, 16, 3, 3, 4)
        whole = vae.decode(latents).sample
        stream = headroom_vae.stream(vae, 24, 32)
        parts = [stream.push(latents[:, :, :1])]
        for wrong, message in (
            (tiny.latent(1, 16, 1, 3, 5), "expected shape 1x16x1x3x4 with any number of frames, found 1x16x1x3x5"),
            (tiny.latent(1, 16, 3, 4), "found 1x16x3x4"),
            (torch.full((1, 16, 1, 3, 4), float("nan")), "finite"),
        ):
            with self.assertRaisesRegex(headroom_vae.InputError, message):
                stream.push(wrong)
        parts.append(stream.push(latents[:, :, 1:]))
        parts.append(stream.finish())
        self.assert_close(torch.cat(parts, 2), whole, 1e-5)
        with self.assertRaisesRegex(headroom_vae.InputError, "has ended"):
            stream.push(latents)
        stream.close()
        with self.assertRaisesRegex(headroom_vae.HeadroomError, "is closed"):
            stream.finish()
        for block, message in ((0, "at least 1 latent frame"), (1.5, "block: expected")):
            with self.assertRaisesRegex(headroom_vae.InputError, message):
                headroom_vae.stream(vae, 24, 32, block=block)

    def test_two_threads_in_one_stream_are_refused_or_take_turns(self):
        vae = tiny.wan()
        stream, block, outcomes = headroom_vae.stream(vae, 96, 128), tiny.latent(1, 16, 4, 12, 16), []

        def push():
            try:
                outcomes.append(stream.push(block).shape[2])
            except headroom_vae.InputError as refused:
                outcomes.append(str(refused))

        threads = [threading.Thread(target=push) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done = [outcome for outcome in outcomes if isinstance(outcome, int)]
        self.assertGreaterEqual(len(done), 1)
        for outcome in outcomes:
            self.assertTrue(isinstance(outcome, int) or "one thread at a time" in outcome, outcome)
        self.assertEqual(stream.finish().shape[2], 0)

    def test_ten_thousand_frames_take_no_more_memory_than_the_first(self):
        vae = tiny.wan()
        stream, block = headroom_vae.stream(vae, 8, 8, block=5), tiny.latent(1, 16, 5, 1, 1)

        def resident():
            with open("/proc/self/statm") as statm:
                return int(statm.read().split()[1]) * 4096

        frames = sum(stream.push(block).shape[2] for _ in range(50))
        before, peak = resident(), stream.measured_peak_bytes
        while frames < 10000:
            frames += stream.push(block).shape[2]
        self.assertLess(resident() - before, MIB)
        self.assertEqual(stream.measured_peak_bytes, peak)

    def test_a_state_goes_on_in_another_process(self):
        vae, latents = tiny.wan(), tiny.latent(1, 16, 4, 3, 4)
        stream = headroom_vae.stream(vae, 24, 32, limit="64MiB", block=2)
        parts = [stream.push(latents[:, :, :3])]
        with tempfile.TemporaryDirectory() as folder:
            torch.save((stream.state(), latents[:, :, 3:]), f"{folder}/state")
            stream.close()  # the first process could be gone now
            subprocess.run([sys.executable, __file__, "--continue", folder], check=True, timeout=300)
            parts += torch.load(f"{folder}/frames")
        self.assert_close(torch.cat(parts, 2), vae.decode(latents).sample, 1e-5)

    def test_a_state_of_another_vae_or_other_bytes_are_refused(self):
        vae = tiny.wan()
        stream = headroom_vae.stream(vae, 24, 32)
        stream.push(tiny.latent(1, 16, 2, 3, 4))
        state = stream.state()
        other = tiny.wan()
        with torch.no_grad():
            other.decoder.conv_in.bias.add_(1)
        for of, wrong, message in (
            (other, state, "other weights"), (vae, state[:-4], "ends too early"), (vae, state + b"1234", "4 bytes too many"),
            (vae, b"{}\n", "expected what state"), (vae, b"\x00", "expected what state"),
        ):  # fmt: skip
            with self.assertRaisesRegex(headroom_vae.InputError, message):
                headroom_vae.stream(of, state=wrong)
        with self.assertRaisesRegex(headroom_vae.InputError, "Leave out height"):
            headroom_vae.stream(vae, 24, 32, state=state)

    def test_new_weights_serve_the_next_stream(self):
        vae, latents = tiny.wan(), tiny.latent(1, 16, 2, 3, 4)
        old = headroom_vae.stream(vae, 24, 32)
        before = vae.decode(latents).sample
        with torch.no_grad():
            vae.decoder.conv_in.weight.mul_(1.5)
        new = headroom_vae.stream(vae, 24, 32)
        self.assert_close(new.push(latents), vae.decode(latents).sample, 1e-5)
        self.assert_close(old.push(latents), before, 1e-5)


def go_on(folder):
    """The process that goes on with the state in a folder."""
    state, latents = torch.load(f"{folder}/state")
    with torch.no_grad(), headroom_vae.stream(tiny.wan(), state=state) as stream:
        torch.save([stream.push(latents), stream.finish()], f"{folder}/frames")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--continue"]:
        go_on(sys.argv[2])
    else:
        unittest.main()
