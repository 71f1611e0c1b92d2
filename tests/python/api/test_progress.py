"""Progress of training loops on terminals."""

import io

import flowmill as tf


class Terminal(io.StringIO):
    def isatty(self):
        return True


def train(file, **options):
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        more = tf.assign_add(step, 1)
        hooks = [tf.train.StopAtStepHook(last_step=5), tf.train.ProgressHook(every_n_secs=0.0, file=file, **options)]
        with tf.train.MonitoredSession(hooks=hooks) as session:
            while not session.should_stop():
                session.run(more)


def test_a_terminal_shows_steps_rates_and_the_time_left():
    terminal = Terminal()
    train(terminal, last_step=5)
    lines = terminal.getvalue().split("\r")
    assert lines[0] == "" and lines[-1].rstrip(" ").startswith("step 5/5") and lines[-1].endswith("\n")
    assert any("steps/s" in line and line.rstrip().endswith("left") for line in lines[1:-1])


def test_without_a_last_step_there_is_no_time_left():
    terminal = Terminal()
    train(terminal)
    assert "step 5 " in terminal.getvalue() and "left" not in terminal.getvalue()


def test_nothing_is_written_elsewhere():
    file = io.StringIO()
    train(file)
    assert file.getvalue() == ""
