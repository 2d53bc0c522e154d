/** The same text with the password of every URL in it replaced: the last guard for messages made from what a user typed. */
export function hidePasswords(text: string): string {
  return text.replace(/(\b[a-z][a-z0-9+.-]*:\/\/[^\s:@/]*):\S*@/gi, "$1:***@");
}
