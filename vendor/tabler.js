// The behaviours of Tabler that pages use by data-bs-* attributes; its whole script weighs three times as much.
// tests/js/tabler.test.js names a behaviour that is missing here.
/*! Tabler, Bootstrap and Popper, under the MIT licence */
import "@tabler/core/js/src/bootstrap/alert";
import "@tabler/core/js/src/bootstrap/collapse";
import "@tabler/core/js/src/bootstrap/dropdown";
