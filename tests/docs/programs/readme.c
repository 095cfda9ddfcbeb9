/* snippet 1 */
