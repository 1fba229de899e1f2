// Who are you? A code out of the link that `holdfast serve` printed, or the server's token.
//
// The code stands in the fragment, which browsers do not send; it is taken out of the address
// before anything else happens, so that it stays in no history.

import { api } from "./api.js";
import { clear, el } from "./dom.js";
import { failure } from "./parts/toast.js";
import { t } from "./words.js";

/** {code, place} of a sign-in link, taken out of the address; null without one. */
export function takeCode() {
  const fragment = location.hash.slice(1);
  if (!fragment.startsWith("code=") && !fragment.startsWith("place=")) return null;
  const values = new URLSearchParams(fragment);
  history.replaceState(null, "", location.pathname + location.search);
  const place = values.get("place");
  return { code: values.get("code"), place: /^[a-z]+$/.test(place || "") ? place : null };
}

/** The form, in the place of the app; `done` when a token is there. */
export function signInForm(root, { why = null, error = null, again = null, done }) {
  const input = el("input", {
    class: "input mono", type: "password", id: "token", autocomplete: "off", spellcheck: "false",
    required: true, data: { test: "token" },
  });
  const button = el("button", { class: "button button-primary", type: "submit", text: t("signin.action") });
  const told = el("div", { aria: { live: "polite" } });

  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    button.textContent = t("signin.busy");
    clear(told);
    try {
      await api.signIn({ token: input.value.trim() });
      done();
    } catch (problem) {
      clear(told, failure(problem));
      button.disabled = false;
      button.textContent = t("signin.action");
      input.select();
    }
  }

  clear(root, el("section", { class: "sign-in card", data: { test: "sign-in" } },
    el("h1", { text: t("signin.title"), tabindex: "-1" }),
    el("p", { class: "muted", text: t("signin.text") }),
    why === "expired" ? el("p", { class: "banner", role: "status", data: { test: "signed-out-why" }, text: t("signin.expired") }) : null,
    linkFailed(error, again),
    el("p", { text: t("signin.link") }),
    el("pre", { class: "command", tabindex: "0", text: "holdfast serve link" }),
    el("form", { class: "stack", on: { submit } },
      el("label", { for: "token" }, t("signin.token")),
      el("div", { class: "row" }, input, button),
      told)));
  input.setAttribute("aria-label", t("signin.token.label"));
}

/** Why the link did not work: it was used up, or the server could not be asked. */
function linkFailed(error, again) {
  if (!error) return null;
  if (error.status === 401) return el("p", { class: "banner banner-warn", role: "status", data: { test: "link-used" }, text: t("signin.code.used") });
  return failure(error, { retry: again });
}
