//! The op catalogue: each op's signature and shape function, declared once.
