import { Choice } from "./field";
import { LANGUAGES, type Theme, theme, THEMES } from "./preferences";
import { t } from "./strings/kit";
import { language } from "./t";

export const themeName = (of: Theme): string => t(`theme.${of}`);

/** Theme and language of this browser. */
export function Looks() {
  return (
    <>
      <Choice
        label={t("theme")}
        value={theme.value}
        options={THEMES.map((value) => ({ value, label: themeName(value) }))}
        onValue={(value) => (theme.value = value as Theme)}
      />
      <Choice
        label={t("language")}
        value={language.value}
        options={LANGUAGES.map((value) => ({ value, label: t(`language.${value}`) }))}
        onValue={(value) => (language.value = value === "de" ? "de" : "en")}
      />
    </>
  );
}
